from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from planners.calls.model_text import PromptTokens
from planners.graphseek.operators.operator import Operator, OperatorFault
from planners.graphseek.operators.table import filter_ as FILTER
from planners.graphseek.operators.table import join as JOIN
from planners.graphseek.operators.table import merge as MERGE
from planners.graphseek.operators.table import read as READ
from planners.graphseek.operators.table import to_table as TO_TABLE
from planners.graphseek.results.result import Cell, GraphPart, Result, ResultEdge, ResultNode
from planners.graphseek.results.result_store import ResultStore
from tests.planners.graphseek.results.stores import column, context, kept

Row = tuple[Cell, ...]
COLUMNS = [column("name"), column("cost", "number"), column("tier", "integer"), column("planned", "boolean")]
NAMES = st.sampled_from(["Alpha", "alpha", "Älpha 1%", "_", "'; DETACH DELETE n", "Σx\n", ""])
ROWS = st.lists(
    st.tuples(
        st.none() | NAMES,
        st.none() | st.sampled_from([0.1, 0.2, 0.30000000000000004, -5.5, 99.963895876119216, 3]),
        st.none() | st.integers(-3, 3),
        st.none() | st.booleans(),
    ),
    max_size=14,
)
TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda cell, value: cell == value,
    "!=": lambda cell, value: cell != value,
    "<": lambda cell, value: cell < value,
    "<=": lambda cell, value: cell <= value,
    ">": lambda cell, value: cell > value,
    ">=": lambda cell, value: cell >= value,
    "contains": lambda cell, value: value.casefold() in cell.casefold(),
    "starts_with": lambda cell, value: cell.casefold().startswith(value.casefold()),
    "ends_with": lambda cell, value: cell.casefold().endswith(value.casefold()),
    "in": lambda cell, value: cell in value,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResultStore]:
    opened = ResultStore(tmp_path_factory.mktemp("run"))
    yield opened
    opened.close()


@st.composite
def filters(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = []
    for _ in range(draw(st.integers(0, 2))):
        kind = draw(st.sampled_from([*TESTS, "is_null", "is_not_null"]))
        values = [NAMES] if kind in ("contains", "starts_with", "ends_with") else [NAMES, st.sampled_from([0.2, 3, -1])]
        at = draw(st.integers(0, len(values) - 1))
        value = draw(st.lists(values[at], min_size=1, max_size=3) if kind == "in" else values[at])
        key = "name" if at == 0 else draw(st.sampled_from(["cost", "tier"]))
        found.append({"key": key, "operator": kind, "value": value})
    return found


def fulfils(row: Row, wanted: list[dict[str, Any]]) -> bool:
    for each in wanted:
        cell = row[["name", "cost", "tier"].index(each["key"])]
        if each["operator"] in ("is_null", "is_not_null"):
            if (cell is None) != (each["operator"] == "is_null"):
                return False
        elif cell is None or not TESTS[each["operator"]](cell, each["value"]):
            return False
    return True


async def run(store: ResultStore, operator: Operator, **arguments: Any) -> Result:
    return await operator.run(arguments, context(store))


async def rows_of(store: ResultStore, operator: Operator, **arguments: Any) -> list[Row]:
    result = await run(store, operator, **arguments)
    rows = await store.rows(result.handle, limit=10**6)
    assert len(rows) == result.size
    return rows


@settings(max_examples=25, deadline=None)
@given(
    rows=ROWS,
    wanted=filters(),
    order=st.sampled_from([None, "name", "cost", "tier"]),
    descending=st.booleans(),
    limit=st.integers(1, 15),
)
@example(
    rows=[("Alpha", 0.1, 1, True)],
    wanted=[{"key": "name", "operator": "ends_with", "value": ""}],
    order=None,
    descending=False,
    limit=1,
)
def test_filter_selects_and_orders_like_a_list(
    store: ResultStore, rows: list[Row], wanted: list[dict[str, Any]], order: str | None, descending: bool, limit: int
) -> None:
    async def check() -> list[Row]:
        handle = (await kept(store, COLUMNS, rows)).handle
        ordered = {"order_by": order, "descending": descending} if order else {}
        try:
            return await rows_of(store, FILTER, handle=handle, filters=wanted, limit=limit, **ordered)
        except OperatorFault as fault:
            assert fault.kind == "empty"
            assert any(each["operator"] == "=" and each["value"] == 0.2 for each in wanted)
            return []

    expected = [row for row in rows if fulfils(row, wanted)]
    if order:
        at = ["name", "cost", "tier"].index(order)
        values = sorted({utf8(row[at]) for row in expected if row[at] is not None}, reverse=descending)
        with_value = [
            row for value in values for row in expected if utf8(row[at]) == value
        ]  # equal ones keep their order
        expected = with_value + [row for row in expected if row[at] is None]
    assert asyncio.run(check()) == expected[:limit]


def utf8(cell: Any) -> Any:
    return cell.encode() if isinstance(cell, str) else cell


@settings(max_examples=25, deadline=None)
@given(rows=ROWS, groups=st.sampled_from([[], ["name"], ["tier", "planned"]]))
def test_filter_groups_and_aggregates_like_a_list(store: ResultStore, rows: list[Row], groups: list[str]) -> None:
    kinds = [("COUNT", "*"), ("COUNT", "name"), ("COUNT_DISTINCT", "tier"), ("SUM", "cost"), ("AVG", "tier"), ("MIN", "cost"), ("MAX", "name")]  # fmt: skip
    aggregations = [{"grouping_type": kind, "property": name} for kind, name in kinds]

    async def check() -> list[Row]:
        handle = (await kept(store, COLUMNS, rows)).handle
        grouped = {"group_by": groups} if groups else {}
        return await rows_of(store, FILTER, handle=handle, aggregations=aggregations, **grouped)

    places = [["name", "cost", "tier", "planned"].index(each) for each in groups]
    by_key: dict[Row, list[Row]] = {} if groups else {(): []}
    for row in rows:
        by_key.setdefault(tuple(row[at] for at in places), []).append(row)
    found = asyncio.run(check())
    assert len(found) == len(by_key)
    for (key, members), row in zip(by_key.items(), found, strict=True):
        names, costs, tiers = ([m[at] for m in members if m[at] is not None] for at in range(3))
        assert row[: len(places)] == key
        count, named, distinct, total, mean, least, greatest = row[len(places) :]
        assert (count, named, distinct) == (len(members), len(names), len(set(tiers)))
        assert total == (None if not costs else pytest.approx(sum(costs)))  # type: ignore[arg-type]
        assert mean == (None if not tiers else pytest.approx(sum(tiers) / len(tiers)))  # type: ignore[arg-type]
        assert least == min(costs, default=None)  # type: ignore[type-var]
        assert greatest == max(names, key=utf8, default=None)


@settings(max_examples=25, deadline=None)
@given(left=ROWS, right=ROWS, how=st.sampled_from(["inner", "left", "anti"]), on=st.sampled_from(["name", "cost"]))
def test_join_pairs_like_two_loops(store: ResultStore, left: list[Row], right: list[Row], how: str, on: str) -> None:
    other = "tier" if on == "cost" else "name"  # numbers and integers are comparable
    at, to = ["name", "cost"].index(on), ["name", "cost", "tier"].index(other)

    async def check() -> list[Row]:
        one, two = (await kept(store, COLUMNS, left)).handle, (await kept(store, COLUMNS, right)).handle
        return await rows_of(store, JOIN, left=one, right=two, left_on=on, right_on=other, how=how)

    expected: list[Row] = []
    for row in left:
        partners = [each for each in right if row[at] is not None and each[to] == row[at]]
        if how == "anti":
            expected += [] if partners else [row]
        else:
            expected += [(*row, *each[:to], *each[to + 1 :]) for each in partners]
            expected += [(*row, None, None, None)] if how == "left" and not partners else []
    found = asyncio.run(check())
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert [row[: len(COLUMNS)] for row in found] == [row[: len(COLUMNS)] for row in expected]  # the left table's order


def graph(*edges: tuple[str, str]) -> GraphPart:
    ids = dict.fromkeys(end for edge in edges for end in edge)
    return GraphPart(
        nodes=tuple(
            ResultNode(id=each, type="VehicleModel" if each < "m" else "Site", properties={"name": each.upper()})
            for each in ids
        ),
        edges=tuple(ResultEdge(type="BUILT_AT", source=s, target=t, properties={"n": 1}) for s, t in edges),
    )


async def test_merge_of_graphs_keeps_parallel_relationships(store: ResultStore) -> None:
    one = (await store.keep_graph(graph(("a", "x"), ("a", "x"), ("b", "x")), title="")).handle
    two = (await store.keep_graph(graph(("a", "x"), ("c", "y")), title="")).handle

    async def edges(how: str) -> tuple[list[str], list[tuple[str, str]]]:
        part = await store.graph((await run(store, MERGE, handles=[one, two], how=how)).handle)
        return [each.id for each in part.nodes], [(each.source, each.target) for each in part.edges]

    assert await edges("union") == (["a", "x", "b", "c", "y"], [("a", "x"), ("a", "x"), ("b", "x"), ("c", "y")])
    assert await edges("intersection") == (["a", "x"], [("a", "x")])
    assert await edges("difference") == (["b"], [])


async def test_to_table_has_nodes_or_relationships(store: ResultStore) -> None:
    handle = (await store.keep_graph(graph(("a", "x"), ("b", "x")), title="")).handle
    models = await run(store, TO_TABLE, handle=handle, what="nodes", type="VehicleModel")
    assert [(each.name, each.type, each.node_type) for each in models.columns] == [
        ("vehicle_model", "node", "VehicleModel"),
        ("name", "string", ""),
    ]
    assert await store.rows(models.handle) == [("a", "A"), ("b", "B")]
    assert await rows_of(store, TO_TABLE, handle=handle, what="nodes") == [
        ("a", "VehicleModel", "A"),
        ("x", "Site", "X"),
        ("b", "VehicleModel", "B"),
    ]
    edges = await run(store, TO_TABLE, handle=handle, what="relationships")
    assert [(each.name, each.node_type) for each in edges.columns][:2] == [
        ("source", "VehicleModel"),
        ("target", "Site"),
    ]
    assert await store.rows(edges.handle) == [("a", "x", "BUILT_AT", 1), ("b", "x", "BUILT_AT", 1)]


async def test_read_fits_whatever_the_rows_and_reads_graphs(store: ResultStore) -> None:
    wide = (await kept(store, [column(f"c{at}") for at in range(200)], [("한" * 500,) * 200] * 3)).handle
    result = await run(store, READ, handle=wide)
    assert PromptTokens().count(result.summary) <= 600
    assert "한" in result.summary
    handle = (await store.keep_graph(graph(("a", "x")), title="")).handle
    assert (await run(store, READ, handle=handle)).summary == (
        f'{handle}: rows 1 to 2 of 2 (type | name):\n"VehicleModel" | "A"\n"Site" | "X"'
    )


@pytest.mark.parametrize(
    ("operator", "arguments", "kind", "hint"),
    [
        (
            FILTER,
            {"handle": "t1", "filters": [{"key": "nmae", "operator": "=", "value": "a"}]},
            "unknown name",
            "nearest is name",
        ),
        (FILTER, {"handle": "t1", "columns": ["zzz"]}, "unknown name", "Known: name, cost, tier, planned"),
        (FILTER, {"handle": "t1", "order_by": "COST"}, "unknown name", "nearest is cost"),
        (FILTER, {"handle": "t9"}, "no such handle", "Results are: t1"),
        (FILTER, {"handle": "g3"}, "arguments", "to_table"),
        (
            FILTER,
            {"handle": "t1", "filters": [{"key": "cost", "operator": ">", "value": "dear"}]},
            "arguments",
            "number",
        ),
        (FILTER, {"handle": "t1", "filters": [{"key": "cost", "operator": ">", "value": "1e0"}]}, None, ""),
        (FILTER, {"handle": "t1", "filters": [{"key": "name", "operator": "=", "value": 5}]}, "arguments", "string"),
        (FILTER, {"handle": "t1", "filters": [{"key": "planned", "operator": "=", "value": "true"}]}, None, ""),
        (
            FILTER,
            {"handle": "t1", "filters": [{"key": "tier", "operator": "contains", "value": "1"}]},
            "arguments",
            "=",
        ),
        (FILTER, {"handle": "t1", "filters": [{"key": "cost", "operator": "=", "value": 9.5}]}, "empty", "rounded"),
        (
            FILTER,
            {"handle": "t1", "aggregations": [{"grouping_type": "SUM", "property": "name"}]},
            "arguments",
            "of numbers",
        ),
        (FILTER, {"handle": "t1", "aggregations": [{"grouping_type": "AVG", "property": "*"}]}, "unknown name", "cost"),
        (FILTER, {"handle": "t4", "aggregations": [{"grouping_type": "SUM", "property": "n"}]}, "too large", "fewer"),
        (FILTER, {"handle": "t1", "group_by": ["name"], "order_by": "cost"}, "unknown name", "Known: name"),
        (JOIN, {"left": "t1", "right": "t2", "left_on": "name", "right_on": "site"}, "arguments", "fit name: label"),
        (MERGE, {"handles": ["t1", "t2"], "how": "union"}, "arguments", "t2 has site, label"),
        (MERGE, {"handles": ["t1", "g3"], "how": "union"}, "arguments", "to_table"),
        (TO_TABLE, {"handle": "t1", "what": "nodes"}, "arguments", "g3"),
        (TO_TABLE, {"handle": "g3", "what": "nodes", "type": "Sites"}, "unknown name", "nearest is Site"),
        (READ, {"handle": "t1", "offset": 2}, "empty", "from 0"),
        (READ, {"handle": "t1", "columns": ["x"]}, "unknown name", "Known: "),
    ],
)
async def test_faults_say_what_to_do(
    tmp_path_factory: pytest.TempPathFactory, operator: Operator, arguments: Mapping[str, Any], kind: str, hint: str
) -> None:
    store = ResultStore(tmp_path_factory.mktemp("run"))
    await kept(store, COLUMNS, [("a", 1.5, 0, True), ("b", 3, 1, None)])
    await kept(store, [column("site", "node"), column("label")], [("n1", "a")])
    await store.keep_graph(graph(("a", "x")), title="")
    await kept(store, [column("n", "integer")], [(2**62,), (2**62,), (2**62,)])
    try:
        await operator.run(arguments, context(store))
        assert kind is None
    except OperatorFault as fault:
        assert (fault.kind, hint in fault.hint) == (kind, True), fault
    finally:
        store.close()
