"""Names and values joined by "and", "or" and "but not", and the first ones on the way to what is asked for; truths by NetworkX."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from pathlib import Path

import networkx as nx
import pytest

from planners.graphs.loading.graph_loading import load_graph
from planners.graphs.loading.loaded_tables import ColumnType, NodeTable, RelationshipTable
from planners.graphseek.catalog.semantic_catalog import (
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
)
from tests.planners.graphseek.rules.rule_runs import Answered, answer_all

_RANDOM = random.Random(11)
_CUISINES = ("nordic", "alpine", "levantine")
CHEFS = ["Ines Holm", "Otto Bell", "Uma Reyes", "Karl Voss", "Nils Frank", "Rosa Lind"]
INGREDIENTS = ["dill", "thyme", "Saffron", "rye", "Fennel", "leek"]
RECIPES = [(f"Dish {at}", _RANDOM.choice(_CUISINES), _RANDOM.choice((9.5, 12.0, 20.0))) for at in range(24)]
USES = [(dish, each) for dish, *_ in RECIPES for each in _RANDOM.sample(INGREDIENTS, 3)]
COOKS = [(chef, dish) for dish, *_ in RECIPES for chef in _RANDOM.sample(CHEFS[:4], 1)]
_CHEAP, _DEAR = (next(name for name, *of in RECIPES if of == ["nordic", price]) for price in (9.5, 20.0))
COOKS += [("Nils Frank", _CHEAP), ("Rosa Lind", _CHEAP), ("Rosa Lind", _DEAR)]
CATALOG = SemanticCatalog(
    accepted=True,
    nodes={
        "Chef": NodeDescriptor(),
        "Recipe": NodeDescriptor(
            words=("dish",),
            properties={
                "cuisine": PropertyDescriptor(
                    values={each: each for each in _CUISINES},
                    groups={"highland": ("alpine", "nordic")},
                    role="category",
                )
            },
        ),
    },
    relationships={
        "USES": RelationshipDescriptor(forward=("uses",), backward=("used in",)),
        "COOKS": RelationshipDescriptor(forward=("cooks",), backward=("cooked by",)),
    },
)
GRAPH: nx.DiGraph[str] = nx.DiGraph([*USES, *COOKS])
DISHES = {name for name, *_ in RECIPES}
CUISINE = {name: cuisine for name, cuisine, _ in RECIPES}
MOST = max(price for *_, price in RECIPES)
CHEAP = {name for name, _, price in RECIPES if price < 15}
DEAREST = {name for name, _, price in RECIPES if price == MOST}


def _with(*ingredients: str) -> set[str]:
    """Dishes that use all of them."""
    return set.intersection(*(set(GRAPH.predecessors(each)) for each in ingredients))


def _cooks(dishes: Iterable[str]) -> set[str]:
    return {chef for dish in dishes for chef in GRAPH.predecessors(dish)}


def _is(*cuisines: str) -> set[str]:
    return {name for name in DISHES if CUISINE[name] in cuisines}


TRUTHS: dict[str, set[str]] = {
    "Which recipes use the ingredient Saffron and the ingredient dill?": _with("Saffron", "dill"),
    "Which recipes use Saffron and dill?": _with("Saffron", "dill"),
    "Which recipes use 'dill', 'thyme' and 'leek'?": _with("dill", "thyme", "leek"),
    "Which recipes use Saffron or the ingredient dill?": _with("Saffron") | _with("dill"),
    "Which recipes use 'dill', 'thyme' or Fennel?": _with("dill") | _with("thyme") | _with("Fennel"),
    "Which recipes use Saffron but not dill?": _with("Saffron") - _with("dill"),
    "Which recipes use Saffron and not the ingredient dill?": _with("Saffron") - _with("dill"),
    "Which recipes do not use Saffron or dill?": DISHES - _with("Saffron") - _with("dill"),
    "Which chefs cook recipes that use Saffron and rye?": _cooks(_with("Saffron", "rye")),
    "Which chefs cook recipes that use Saffron but not rye?": _cooks(_with("Saffron") - _with("rye")),
    "Which nordic or alpine recipes use Fennel?": _is("nordic", "alpine") & _with("Fennel"),
    "Which nordic, alpine or levantine recipes use Fennel?": _with("Fennel"),
    "Which highland recipes use Fennel?": _is("nordic", "alpine") & _with("Fennel"),
    "Which recipes that use Fennel are not nordic?": _with("Fennel") - _is("nordic"),
    "Which recipes that use Fennel are not highland?": _with("Fennel") & _is("levantine"),
    "Which chefs have only nordic recipes with a price below 15?": {
        chef for chef in CHEFS if set(GRAPH.successors(chef)) <= _is("nordic") & CHEAP
    },
    "Which chefs cook the recipe with the highest price?": _cooks(DEAREST),
    "Which ingredients are used in the recipe with the highest price?": {
        each for dish in DEAREST for each in GRAPH.successors(dish)
    },
}
REFUSED = {
    "Which recipes use Saffron and xyloph?": "“xyloph”",
    "Which recipes that use Saffron take the ingredient xyloph?": "“xyloph”",
    "Which recipes by Uma Reyes are nordic and thai?": "“thai”",
    "Which recipes do not use Saffron and dill?": "how far “not” goes",
    "Which recipes use Saffron and dill or rye?": "by “or”",
    "Which recipes that use Fennel are nordic and alpine?": "two values of cuisine",
    "Which chefs do not cook nordic or are rich?": "“or”",
}
OTHER = next(dish for chef, dish in COOKS if chef != COOKS[0][0])
BOTH = f"Which chefs cook 'Dish 0' and '{OTHER}'?"
COUNTED = "Which chef has the most recipes that are nordic?"
TIED = "Which chefs cook the recipe with the highest price?"


def _write(path: Path) -> None:
    named: tuple[tuple[str, ColumnType], ...] = (("key", "string"), ("name", "string"))
    recipes: tuple[tuple[str, ColumnType], ...] = (*named, ("cuisine", "string"), ("price", "number"))
    load_graph(
        path,
        [
            NodeTable(type="Chef", columns=named, key="key", rows=[(each, each) for each in CHEFS]),
            NodeTable(type="Ingredient", columns=named, key="key", rows=[(each, each) for each in INGREDIENTS]),
            NodeTable(type="Recipe", columns=recipes, key="key", rows=[(name, name, *rest) for name, *rest in RECIPES]),
        ],
        [
            RelationshipTable(type="USES", source_type="Recipe", target_type="Ingredient", columns=(), rows=USES),
            RelationshipTable(type="COOKS", source_type="Chef", target_type="Recipe", columns=(), rows=COOKS),
        ],
    )


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answered]:
    folder = tmp_path_factory.mktemp("recipes")
    _write(folder / "recipes.lbdb")
    asked = [[each] for each in (*TRUTHS, *REFUSED, BOTH, COUNTED)]
    return asyncio.run(answer_all(f"ladybug:{folder / 'recipes.lbdb'}", folder, asked, CATALOG))


@pytest.mark.parametrize("question", TRUTHS)
def test_joined_things_are_those_of_the_graph(answers: dict[str, Answered], question: str) -> None:
    answered = answers[question]
    assert TRUTHS[question]
    assert answered.outcome == "answered", answered.text
    assert set(answered.tables[0]["name"]) == TRUTHS[question]


@pytest.mark.parametrize("question", REFUSED)
def test_what_is_joined_and_not_read_is_refused(answers: dict[str, Answered], question: str) -> None:
    assert answers[question].outcome in ("unreadable", "asked back"), answers[question].text
    assert REFUSED[question] in answers[question].text


def test_things_that_nothing_has_together_are_said_to_be_read_as_both(answers: dict[str, Answered]) -> None:
    assert not _cooks(["Dish 0"]) & _cooks([OTHER])
    assert f"“Dish 0” and “{OTHER}” were read as both" in answers[BOTH].text


def test_a_tie_on_the_way_is_told(answers: dict[str, Answered]) -> None:
    assert len(DEAREST) > 1
    assert f"{len(DEAREST)} of type Recipe share the price {MOST}" in answers[TIED].text


def test_what_is_counted_has_the_condition_behind_it(answers: dict[str, Answered]) -> None:
    counts = {chef: len(set(GRAPH.successors(chef)) & _is("nordic")) for chef in CHEFS}
    first = {chef for chef, count in counts.items() if count == max(counts.values())}
    assert set(answers[COUNTED].tables[0]["name"]) == first
    assert set(answers[COUNTED].tables[0]["count"]) == {max(counts.values())}
