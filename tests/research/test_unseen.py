"""Leave-one-catalogue-out: the table of found rules against the code, its switches, and that nothing of a set reaches its own weights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest

from ingest.linking.derive import derive_edges
from ontology.ontology import load_ontology
from ontology.tool import Parameter, Tool
from research.unseen import cases as cases_module
from research.unseen.answers import Ranks
from research.unseen.cases import choose_without
from research.unseen.differences import difference
from research.unseen.found_rules import ELSEWHERE, ENCODER_SAW, FOUND_RULES, catalogue_of, switches_off
from research.unseen.page import controls_block, page
from research.unseen.switches import Switch, constant, switched
from research.unseen.unseen_set import PLAIN_ENCODER, encoder_of
from research.unseen.weight_search import FACTORS, SearchSpace
from scripts.bench_sets import GRAPH_RULE_SETS, MACRO_SETS
from tests.conftest import ROOT

MEASURED = {*MACRO_SETS, "workbench", "toolsandbox", "tooltalk", "enterprise", "real"}
_FOUND = re.compile(r"(?<!not )\bfound (?:on|by reading)\b(?: the set (?P<set>\w+))?", re.IGNORECASE)


def _statements() -> Iterator[tuple[str, str]]:
    """File and set, or no set, of each statement of the code about what something was found on."""
    for folder in ("ingest", "ontology", "retrieval", "inference"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".yaml"):
                text = re.sub(r"\s*\n\s*#?\s*", " ", path.read_text(encoding="utf-8"))
                for match in _FOUND.finditer(text):
                    yield str(path.relative_to(ROOT)), match["set"] or ""


def test_every_rule_that_says_what_it_was_found_on_is_in_the_table() -> None:
    table = {(rule.where, name) for rule in FOUND_RULES for name in rule.found_on}
    files = {where for where, _ in table}
    stated = set(_statements())
    assert len(stated) > 10
    missing = sorted(
        (where, name) for where, name in stated if where not in files or (name and (where, name) not in table)
    )
    assert not missing, f"add them to FOUND_RULES in research/unseen/found_rules.py: {missing}"


def test_the_catalogues_of_the_table_exist() -> None:
    known = {*MEASURED, *map(catalogue_of, GRAPH_RULE_SETS), ELSEWHERE}
    assert {name for rule in FOUND_RULES for name in rule.found_on} <= known
    assert {catalogue_of(name) for name in GRAPH_RULE_SETS} <= {name for rule in FOUND_RULES for name in rule.found_on}
    assert {name for names in ENCODER_SAW.values() for name in names} <= MEASURED
    assert all((ROOT / rule.where).is_file() for rule in FOUND_RULES)


@pytest.mark.parametrize(
    "target", sorted({one.target for rule in FOUND_RULES for one in rule.switches} | {*FACTORS.values()})
)
def test_a_switch_changes_what_is_there_and_puts_it_back(target: str) -> None:
    switch = next((one for rule in FOUND_RULES for one in rule.switches if one.target == target), None)
    module, name = (switch := switch or Switch(target, constant(0.5))).place()
    before = getattr(module, name)
    with pytest.raises(ZeroDivisionError), switched([switch]):
        assert getattr(module, name) is not before
        raise ZeroDivisionError
    assert getattr(module, name) is before


def _tools() -> list[Tool]:
    token = Parameter(name="token", type="string", description="The session token.", required=True)
    person = Parameter(name="employee_id", type="string", description="The id of the employee.", required=True)
    text = Parameter(name="query", type="string", description="Words to search for.", required=True)
    found = (Parameter(name="employee_id", type="string"), Parameter(name="name", type="string"))
    return [
        Tool(id="login", name="login", description="Log in.", returns=(Parameter(name="token", type="string"),)),
        Tool(id="search", name="search_employees", description="Search employees.", parameters=(text,), returns=found),
        Tool(id="award", name="give_award", description="Give an award to an employee.", parameters=(token, person)),
    ]


def _edges(name: str) -> set[tuple[str, str, str]]:
    with switched(switches_off(name, during="ingest")):
        return {(one.source, one.predicate, one.target) for one in derive_edges(_tools(), load_ontology())}


def test_a_rule_is_off_on_the_catalogue_it_was_found_on_and_on_elsewhere() -> None:
    opens, resolves = ("award", "depends_on", "login"), ("award", "resolved_by", "search")
    assert {opens, resolves} <= _edges("tooltalk")
    assert opens not in _edges("apibank")
    assert resolves in _edges("apibank")
    assert resolves not in _edges("restbench")
    assert opens in _edges("restbench")


def test_a_catalogue_that_the_encoder_was_trained_on_has_the_plain_one() -> None:
    tuned = "egotools-minilm-int8.v1"
    assert encoder_of("metatool", tuned) == encoder_of("real-kept", tuned) == PLAIN_ENCODER
    assert encoder_of("apibank", tuned) == tuned


def test_no_set_has_a_part_in_the_choice_of_its_own_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    space = SearchSpace(("bm25_text", "cosine_text", "clause_fusion"))
    names = ("apibank", "gtc", "enterprise-dev")

    def choose(spoilt: str) -> dict[str, dict[str, float]]:
        def worth(_: object, name: str, chosen: object) -> float:
            value = float(chosen.values["bm25_text"]) * (1 + names.index(name))  # type: ignore[attr-defined]
            return -value if name == spoilt else value

        monkeypatch.setattr(cases_module, "_worth", worth)
        found = choose_without(dict.fromkeys(names), space, [*names, "enterprise-test"], budget=40)  # type: ignore[arg-type]
        return {name: dict(one.values) for name, one in found.items()}

    plain, spoilt = choose(""), choose("enterprise-dev")
    assert plain["enterprise-dev"] == spoilt["enterprise-dev"] == spoilt["enterprise-test"]
    assert plain["apibank"] != spoilt["apibank"]


def _ranks(default: Sequence[int]) -> Ranks:
    systems = ("rrf", "fusion", "fusion-clauses", "flat-tuned", "default-no-graph", "default-ngram-index 0")
    found = {name: [4] * 20 for name in systems}
    found |= {
        f"default-rewired-{kind} {seed}": [11 if seed else 1] * 20 for kind in ("tools", "entities") for seed in (0, 1)
    }
    return {**found, "default": list(default)}


def test_the_pages_say_where_default_is_below() -> None:
    ranks = {"apibank": _ranks([4] * 20), "workbench": _ranks([11] * 20), "tooltalk": _ranks([3] * 20)}
    assert difference(ranks["workbench"], "default", "rrf", 5, stratum="workbench").below
    weights = {name: {"bm25_text": 1.0} for name in ranks}
    text = page(
        ranks, weights, dict.fromkeys(ranks, "hashing.v1"), limit=20, budget=9, kept=False, measured="2026-01-02"
    )
    below = next(line for line in text.splitlines() if line.startswith("Below"))
    assert "workbench @5 against `rrf` (-100.0" in below
    assert "workbench @3" not in below
    assert "apibank" not in below
    assert "| tooltalk | 20 |" in text
    assert "mean without tooltalk |" in text
    assert "| `rrf` | +0.0 / +0.0 / +0.0 | +0.0 / -50.0 / -50.0 |" in text
    # Of a rewiring the mean over its seeds counts: 50 % here.
    row = next(line for line in controls_block(ranks).splitlines() if line.startswith("| edges between tools rewired"))
    assert row.split("|")[2].split()[0] == "-16.7"
