"""The executor against trying every assignment, on random graphs and random data; so do graphs that exclude or have alternatives."""

from datetime import date
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from planners.dfs.executor import Execution, answer_graph, execute
from planners.query.domain import Domain
from planners.query.graph_faults import graph_faults
from planners.query.query_graph import QueryGraph
from tests.planners.dfs.brute_force import brute_force
from tests.planners.dfs.memory_resolver import MemoryResolver, day

DOMAIN = Domain.model_validate(yaml.safe_load(Path(__file__).with_name("letters.yaml").read_text("utf-8")))
SIGNATURES = list(DOMAIN.signatures())
IDS = {
    "Letter": [f"l{at}" for at in range(5)],
    "Person": [f"p{at}" for at in range(5)],
    "Me": ["self"],
    "Day": [day(f"2025-02-0{at}") for at in range(1, 6)],
}
CALLS = ["Letter", "Person", *(f"{a} {e} {b}" for a, e, b in SIGNATURES), *(f"{b} ← {e} {a}" for a, e, b in SIGNATURES)]


RANDOM = st.randoms(use_true_random=True)  # the drawn values of hypothesis are mostly small: few cycles, empty answers
RANGES = ["2025-02-02/2025-02-04", "2025-02-01/2025-02-03"]
TODAY = date(2025, 2, 1)
FILTERS: list[tuple[str, str, Any]] = [
    ("name", "=", "ann"),
    ("name", "contains", "ann"),
    ("size", ">", 0),
    ("ordinal", "=", "last"),
    ("ordinal", "=", "second"),
]


def tables(random: Random) -> MemoryResolver:
    rows = {
        kind: {
            each: {
                "name": random.choice(["ann", "bob", "anna"]),
                "size": random.randint(0, 2),
                "at": random.randint(0, 3),
            }
            for each in IDS[kind][: random.randint(1, 5)]
        }
        for kind in ("Letter", "Person")
    }
    ids = {**IDS, **{kind: list(table) for kind, table in rows.items()}}
    share = random.choice([0.2, 0.4, 0.7])
    pairs = {
        (source, edge, target): {pair for pair in product(ids[source], ids[target]) if random.random() < share}
        for source, edge, target in SIGNATURES
    }
    carried = random.choice([None, {"at"}, {"at", "name"}])
    return MemoryResolver(DOMAIN, rows, pairs, carried)


def graphs(random: Random) -> QueryGraph:
    """A connected graph of one to five variables, every second one with cycles."""
    variables = {"v0": random.choice(list(IDS))}
    constraints: list[dict[str, Any]] = []

    def join(one: str, two: str) -> None:
        ends = [(one, two), (two, one)]
        allowed = [(x, name, y) for x, y in ends for a, name, b in SIGNATURES if (a, b) == (variables[x], variables[y])]
        if allowed:
            constraints.append(dict(zip(("from", "edge", "to"), random.choice(allowed), strict=True), kind="edge"))

    for at in range(1, random.randint(1, 5)):
        near = random.choice(list(variables))
        kinds = sorted({b if a == variables[near] else a for a, _, b in SIGNATURES if variables[near] in (a, b)})
        variables[f"v{at}"] = random.choice(kinds)
        join(f"v{at}", near)
    for _ in range(random.choice([0, 0, 1, 2])):
        if len(variables) > 1:
            join(*random.sample(list(variables), 2))
    for var, kind in variables.items():
        if kind == "Day" and random.random() < 0.6:
            constraints.append(_filter(var, "value", random.choice("=<>"), random.choice(RANGES)))
        elif kind in ("Letter", "Person") and random.random() < 0.5:
            constraints += [_filter(var, *each) for each in random.sample(FILTERS, random.choice([1, 1, 2]))]
    random.shuffle(constraints)
    return QueryGraph.model_validate(
        {
            "action": random.choice(["find", "count"]),
            "return_var": random.choice(list(variables)),
            "return_mode": random.choice(["one", "all"]),
            "vars": variables,
            "constraints": constraints,
        }
    )


def _filter(var: str, field: str, op: str, value: Any) -> dict[str, Any]:
    return {"kind": "filter", "var": var, "field": field, "op": op, "value": value}


def _startable(graph: QueryGraph) -> bool:
    dated = {each.var for each in graph.filters}
    return any(kind != "Day" or var in dated for var, kind in graph.vars.items())


def _shown(execution: Execution) -> dict[str, list[str]]:
    return {var: [each.id for each in found] for var, found in execution.candidates.items()}


@settings(max_examples=300)
@given(random=RANDOM)
async def test_the_answer_is_that_of_trying_every_assignment(random: Random) -> None:
    graph, data = graphs(random), tables(random)
    if not _startable(graph):
        return
    execution = await execute(graph, DOMAIN, data, today=TODAY)
    wanted = brute_force(graph, data)
    assert _shown(execution) == wanted
    answer = wanted[graph.return_var]
    assert execution.count == len(answer)
    shown = [] if graph.action == "count" else answer[:1] if graph.return_mode == "one" else answer
    assert [each.id for each in execution.answer] == shown
    assert (execution.missing, execution.exact) == ((), True)
    bound = "Me" in graph.vars.values() or any(each.field != "ordinal" for each in graph.filters)
    if bound:
        assert [each for each in data.asked if each[0] == "find" and not each[2]] == [], "listed a whole type"


@settings(max_examples=300)
@given(random=RANDOM)
async def test_with_failures_it_is_that_of_the_graph_without_what_is_missing(random: Random) -> None:
    graph, data = graphs(random), tables(random)
    if not _startable(graph):
        return
    data.broken = set(random.sample(CALLS, random.randint(1, 5)))
    execution = await execute(graph, DOMAIN, data, today=TODAY)
    missing = [each for one in execution.missing for each in one.constraints]
    assert len(set(missing)) == len(missing)
    if execution.count is None:
        assert execution.candidates == {}
        assert set(missing) == set(graph.constraints)
        return
    left = [each for each in graph.constraints if each not in missing]
    smaller = graph.model_copy(
        update={
            "vars": {var: kind for var, kind in graph.vars.items() if var in execution.candidates},
            "constraints": tuple(left),
        }
    )
    assert _shown(execution) == brute_force(smaller, data, graph)


EDGE: dict[str, Any] = {"kind": "edge", "from": "l", "edge": "sent", "to": "p"}
NAMES: dict[str, Any] = {"kind": "edge", "from": "l", "edge": "names", "to": "q"}


def _graph(*constraints: dict[str, Any], **variables: str) -> QueryGraph:
    form = {"action": "find", "return_var": "l", "vars": {"l": "Letter", **variables}, "constraints": constraints}
    return QueryGraph.model_validate(form)


def _name(var: str, value: str, *others: str) -> dict[str, Any]:
    return {**_filter(var, "name", "=", value), "others": others}


@settings(max_examples=60)
@given(random=RANDOM)
async def test_exclusion_and_alternatives_are_differences_and_unions(random: Random) -> None:
    data = tables(random)

    async def answer(graph: QueryGraph) -> set[str]:
        assert graph_faults(graph, DOMAIN) == ()
        found = await answer_graph(graph, DOMAIN, data, today=TODAY)
        assert found["count"] == len(found["answer"])
        return {each["id"] for each in found["answer"]}

    def wanted(graph: QueryGraph) -> set[str]:
        return set(brute_force(graph, data)["l"])

    ann, named = _name("p", "ann"), _name("l", "bob")
    every, sent = _graph(named), _graph(named, EDGE, ann, p="Person")
    assert await answer(_graph(named, {**EDGE, "negated": True}, ann, p="Person")) == wanted(every) - wanted(sent)
    bob = wanted(_graph(EDGE, _name("p", "bob"), p="Person"))
    either = _graph(EDGE, _name("p", "ann", "bob"), p="Person")
    assert await answer(either) == wanted(_graph(EDGE, ann, p="Person")) | bob
    both = _graph(EDGE, ann, NAMES, p="Person", q="Person")
    excluded = _graph(EDGE, ann, {**NAMES, "negated": True}, p="Person", q="Person")
    assert await answer(excluded) == wanted(_graph(EDGE, ann, p="Person")) - wanted(both)
