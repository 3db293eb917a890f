"""Each operator of graph data gives what a plain computation gives, on random graphs, in Ladybug and over Bolt."""

import random
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from planners.graphseek.catalog import NodeDescriptor, PropertyDescriptor, RelationshipDescriptor, SemanticCatalog
from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.operators.retrieve import NEAR, nearness
from tests.planners.graphseek.operators.operator_runs import Runs, bolt_runs, ladybug_runs
from tests.planners.graphseek.operators.plain_oracle import Oracle, aggregated
from tests.planners.graphseek.operators.random_graph import COLUMNS, ENDS, TEXTS, TYPES, random_graph

_ROLES = {
    "key": PropertyDescriptor(role="key"),
    "name": PropertyDescriptor(role="name"),
    "n0": PropertyDescriptor(role="month"),
}
CATALOG = SemanticCatalog(
    nodes={
        "Person": NodeDescriptor(properties=_ROLES),
        "Gamma": NodeDescriptor(properties=_ROLES),
        "alpha'x": NodeDescriptor(properties={**_ROLES, "born": PropertyDescriptor(role="date")}),
        "Bau-Teil é": NodeDescriptor(properties={"name": PropertyDescriptor(role="name")}),
    },
    relationships={"MADE-OF": RelationshipDescriptor(properties={"year": PropertyDescriptor(role="year")})},
)
_SAMPLES: dict[str, tuple[list[str], Callable[[random.Random], Any]]] = {
    "name": (["=", "!=", "<", "contains", "starts_with", "ends_with"], lambda r: r.choice((*TEXTS, "nn", "O'", "日"))),
    "odd key": (["=", "in"], lambda r: r.choice(("red", "Red", "green"))),
    "score": (["=", "!=", "<", "<=", ">", ">=", "in"], lambda r: r.choice((-1, 0, 2, 1.5))),
    "price": (["=", "<", ">=", "in"], lambda r: r.randint(-8, 8) / 4),
    "flag": (["=", "!="], lambda r: r.random() < 0.5),
    "born": (["=", "<", ">=", "in"], lambda r: f"2021-{r.randint(1, 12):02d}-15"),
}


class Draws:
    """Random arguments."""

    def __init__(self, draw: random.Random) -> None:
        self.of = draw

    def type(self) -> str:
        return self.of.choice(list(TYPES))

    def filters(self, most: int = 2) -> list[dict[str, Any]]:
        found = []
        for name in self.of.sample(list(_SAMPLES), self.of.randint(0, most)):
            operators, value = _SAMPLES[name]
            operator = self.of.choice([*operators, "is_null", "is_not_null"])
            drawn = {} if "null" in operator else {"value": value(self.of)}
            if operator == "in":
                drawn = {"value": [value(self.of) for _ in range(self.of.randint(1, 3))]}
            found.append({"key": name, "operator": operator, **drawn})
        return found

    def reach(self, hops: int = 3) -> dict[str, Any]:
        found: dict[str, Any] = {"direction": self.of.choice(("out", "in", "both"))}
        if self.of.random() < 0.5:
            found["relationship_types"] = self.of.sample(list(ENDS), self.of.randint(1, 2))
        if hops:
            found["max_hops"] = self.of.randint(1, hops)
        return found

    def along(self) -> dict[str, Any]:
        if self.of.random() < 0.5:
            return {}
        key, operator, value = self.of.choice((("weight", ">", 0.5), ("year", "=", 2022), ("plan", "is_not_null", 0)))
        return {"relationship_filters": [{"key": key, "operator": operator, "value": value}]}


Check = Callable[[Runs, Oracle, Draws], Awaitable[None]]


async def _rows(runs: Runs, operator: str, **arguments: Any) -> list[dict[str, Any]]:
    """The rows; none where a fault says why there are none."""
    try:
        return await runs.rows(operator, **arguments)
    except OperatorFault as fault:
        assert fault.kind == "empty", fault
        return []


async def check_get_nodes(runs: Runs, oracle: Oracle, draws: Draws) -> None:
    type_, filters = draws.type(), draws.filters()
    expected = oracle.select(type_, filters)
    rows = await _rows(runs, "get_nodes", node_type=type_, **({"filters": filters} if filters else {}))
    assert {row["key"] for row in rows} == expected
    for row in rows:
        have = oracle.graph.properties[row["key"]]
        assert {name: row[name] for name in COLUMNS} == {name: have.get(name) for name in COLUMNS}
    order, down, limit = draws.of.choice(("price", "name", "born")), draws.of.random() < 0.5, draws.of.randint(1, 4)
    rows = await _rows(
        runs, "get_nodes", node_type=type_, order_by=order, descending=down, limit=limit, properties=[order]
    )
    values = [oracle.graph.properties[k].get(order) for k in oracle.select(type_)]
    assert [row[order] for row in rows] == sorted((v for v in values if v is not None), reverse=down)[:limit]


async def check_groups(runs: Runs, oracle: Oracle, draws: Draws) -> None:
    type_, group = draws.type(), draws.of.choice((["odd key"], ["flag", "odd key"], []))
    asked = [
        ("COUNT", "*"),
        ("COUNT", "name"),
        ("COUNT_DISTINCT", "name"),
        ("SUM", "price"),
        ("AVG", "score"),
        ("MAX", "born"),
    ]
    aggregations = [{"grouping_type": kind, "property": name} for kind, name in asked]
    rows = await runs.rows("get_nodes", node_type=type_, group_by=group, aggregations=aggregations)
    of: dict[tuple[Any, ...], list[Any]] = {}
    for key in oracle.select(type_):
        have = oracle.graph.properties[key]
        of.setdefault(tuple(have.get(name) for name in group), []).append(have)
    assert {tuple(row[name] for name in group) for row in rows} == set(of)
    for row in rows:
        members = of[tuple(row[name] for name in group)]
        assert row["count"] == len(members)
        for kind, name in asked[1:]:
            expected = aggregated([each.get(name) for each in members], kind)
            assert row[f"{kind.lower()}_{name}"] == (pytest.approx(expected) if kind == "AVG" else expected)


async def check_find(runs: Runs, oracle: Oracle, draws: Draws) -> None:
    text, type_ = draws.of.choice((*TEXTS, "An", "P1", "nn")), draws.type()
    names = {(k, oracle.graph.properties[k].get(n, "")) for k in oracle.select(type_) for n in ("key", "name")}
    for match, test in (
        ("exact", lambda name: name == text),
        ("fuzzy", lambda name: text.strip().lower() in name.lower()),
    ):
        rows = await _rows(runs, "find", text=text, match=match, node_type=type_, limit=100)
        expected = {key for key, name in names if name and test(name)}
        if match == "fuzzy":
            assert {row["node"] for row in rows} >= expected
            assert all(row["score"] == nearness(text, row["name"]) >= NEAR for row in rows)
        else:
            assert {row["node"] for row in rows} == expected


async def check_traverse(runs: Runs, oracle: Oracle, draws: Draws) -> None:
    type_, filters, reach, along = draws.type(), draws.filters(1), draws.reach(), draws.along()
    starts = oracle.select(type_, filters)
    reached = oracle.reached(starts, {**reach, **along}, reach["max_hops"])
    start = {"type": type_, "filters": filters} if filters else {"type": type_}
    rows = await _rows(runs, "traverse", start=start, **reach, **along)
    assert {(row.get("node") or row["key"], row["hops"]) for row in rows} == set(reached.items())
    assert len(rows) == len(reached)
    end, narrow = draws.type(), draws.filters(1)
    kept = {(key, hops) for key, hops in reached.items() if key in oracle.select(end, narrow)}
    narrowed = {"filters": narrow} if narrow else {}
    rows = await _rows(runs, "traverse", start=start, node_type=end, **narrowed, **reach, **along)
    assert {(row["key"], row["hops"]) for row in rows} == kept


async def check_handles(runs: Runs, oracle: Oracle, draws: Draws) -> None:
    type_, reach = draws.type(), draws.reach()
    table = await runs.call("get_nodes", node_type=type_)
    by_handle = await _rows(runs, "traverse", start={"handle": table.handle}, **reach)
    expected = oracle.reached(oracle.select(type_), reach, reach["max_hops"])
    assert {(row.get("node") or row["key"], row["hops"]) for row in by_handle} == set(expected.items())
    if by_handle:
        mixed = runs.results.handles[-1]
        further = await _rows(runs, "traverse", start={"handle": mixed}, direction="both", max_hops=2)
        again = oracle.reached(expected, {"direction": "both"}, 2)
        assert {(row.get("node") or row["key"], row["hops"]) for row in further} == set(again.items())


async def check_neighbours(runs: Runs, oracle: Oracle, draws: Draws) -> None:
    type_, reach, along = draws.type(), draws.reach(2), draws.along()
    pairs = oracle.pairs(oracle.select(type_), {**reach, **along}, reach["max_hops"])
    asked = [
        {"grouping_type": "COUNT"},
        {"grouping_type": "SUM", "property": "price"},
        {"grouping_type": "MIN", "property": "name"},
    ]
    rows = await _rows(runs, "aggregate_neighbours", start={"type": type_}, aggregations=asked, **reach, **along)
    found = {next(iter(row.values())): (row["count"], row["sum_price"], row["min_name"]) for row in rows}
    have = oracle.graph.properties
    expected = {
        start: (
            len(ends),
            aggregated([have[end].get("price") for end in ends], "SUM"),
            aggregated([have[end].get("name") for end in ends], "MIN"),
        )
        for start in {start for start, _ in pairs}
        if (ends := [end for other, end in pairs if other == start])
    }
    assert found == expected
    rows = await _rows(
        runs,
        "aggregate_neighbours",
        start={"type": type_},
        aggregations=asked[:2],
        group_by="odd key",
        **reach,
        **along,
    )
    reached = {end for _, end in pairs}
    assert {row["odd key"]: row["count"] for row in rows} == Counter(have[end].get("odd key") for end in reached)


async def check_relationships(runs: Runs, oracle: Oracle, draws: Draws) -> None:
    type_, reach, along = draws.type(), draws.reach(0), draws.along()
    starts = oracle.select(type_)
    for by, at in (("node", 0), ("neighbour", 1)):
        sums: dict[str, list[Any]] = {}
        for source, target, number in oracle.steps({**reach, **along}):
            if source in starts and source != target:
                sums.setdefault((source, target)[at], []).append(oracle.graph.edges[number].properties.get("weight"))
        asked = [{"grouping_type": "SUM"}, {"grouping_type": "COUNT"}]
        rows = await _rows(
            runs,
            "aggregate_neighbours",
            start={"type": type_},
            aggregations=asked,
            group_by=by,
            relationship_property="weight",
            **reach,
            **along,
        )
        found = {next(iter(row.values())): (row["sum_weight"], row["count"]) for row in rows}
        assert found == {key: (aggregated(of, "SUM"), len(of)) for key, of in sums.items()}


async def check_degree(runs: Runs, oracle: Oracle, draws: Draws) -> None:
    type_, reach, along = draws.type(), draws.reach(0), draws.along()
    starts = oracle.select(type_)
    pairs = oracle.pairs(starts, {**reach, **along}, 1)
    asked: list[dict[str, Any]] = [{}, {"at_least": 0}, {"at_most": 1}, {"at_least": 2}]
    for bounds in asked:
        counted: dict[str, set[Any]] = {start: {end for other, end in pairs if other == start} for start in starts}
        least = bounds.get("at_least", 0 if "at_most" in bounds else 1)
        expected = {k: len(of) for k, of in counted.items() if least <= len(of) <= bounds.get("at_most", 99)}
        order = draws.of.choice(("ascending", "descending"))
        try:
            rows = await runs.rows("degree", start={"type": type_}, order=order, **bounds, **reach, **along)
        except OperatorFault as fault:
            assert fault.kind == "empty"
            assert not pairs or not expected
            continue
        assert {next(iter(row.values())): row["count"] for row in rows} == expected
        counts = [row["count"] for row in rows]
        assert counts == sorted(counts, reverse=order == "descending")


def _edges(rows: list[dict[str, Any]]) -> Counter[tuple[str, str, str]]:
    return Counter((row["type"], row["source"], row["target"]) for row in rows)


async def check_subgraph(runs: Runs, oracle: Oracle, draws: Draws) -> None:
    type_, reach = draws.type(), draws.reach(2)
    starts = oracle.select(type_)
    rows = await _rows(runs, "subgraph", start={"type": type_}, **reach)
    nodes = starts | set(oracle.reached(starts, reach, reach["max_hops"]))
    if len(nodes) == len(starts) and not rows:
        return  # the schema may know that nothing is reached
    assert all(row["source_type"] == oracle.graph.types[row["source"]] for row in rows)
    assert _edges(rows) == Counter(
        (edge.type, edge.source, edge.target)
        for edge in oracle.graph.edges
        if {edge.source, edge.target} <= nodes and edge.type in reach.get("relationship_types", ENDS)
    )


async def check_paths(runs: Runs, oracle: Oracle, draws: Draws) -> None:
    start, end, reach, shortest = draws.type(), draws.type(), draws.reach(3), draws.of.random() < 0.7
    one, other = (oracle.select(each) for each in (start, end))
    paths = (oracle.shortest if shortest else oracle.trails)(one, other, reach, reach["max_hops"])
    if len(paths) > 500:
        return
    ends: dict[str, Any] = {"start": {"type": start}, "end": {"type": end}}
    for place in draws.of.choice(((), ("start",), ("start", "end"))):
        ends[place] = {"handle": (await runs.call("get_nodes", node_type=ends[place]["type"])).handle}
    rows = await _rows(runs, "paths", **ends, shortest=shortest, limit=500, **reach)
    edges = [oracle.graph.edges[at] for at in {at for _, _, trail in paths for at in trail}]
    assert set(_edges(rows)) == {(each.type, each.source, each.target) for each in edges}


CHECKS: list[Check] = [
    check_get_nodes,
    check_groups,
    check_find,
    check_traverse,
    check_traverse,
    check_handles,
    check_neighbours,
    check_relationships,
    check_degree,
    check_subgraph,
    check_paths,
]


async def _check_all(runs: Runs, oracle: Oracle, draw: random.Random, rounds: int) -> None:
    for _ in range(rounds):
        for check in CHECKS:
            await check(runs, oracle, Draws(draw))


@settings(max_examples=5, phases=(Phase.explicit, Phase.reuse, Phase.generate))  # to shrink takes minutes
@given(st.integers(0, 2**32))
async def test_ladybug_gives_what_the_oracle_gives(seed: int) -> None:
    draw = random.Random(seed)
    graph = random_graph(draw)
    with tempfile.TemporaryDirectory() as folder:
        async with ladybug_runs(graph, Path(folder), CATALOG) as runs:
            await _check_all(runs, Oracle(graph), draw, 2)


@pytest.mark.slow
async def test_neo4j_gives_what_the_oracle_gives(neo4j_address: str, tmp_path: Path) -> None:
    draw = random.Random(18)
    graph = random_graph(draw)
    async with bolt_runs(graph, neo4j_address, tmp_path, CATALOG) as runs:
        await _check_all(runs, Oracle(graph), draw, 1)
