from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from planners.calls.model_text import prompt_tokens
from planners.graphseek.operators.operator import Operator, OperatorFault
from planners.graphseek.operators.table import filter_ as FILTER
from planners.graphseek.operators.table import merge as MERGE
from planners.graphseek.operators.table import read as READ
from planners.graphseek.operators.table import show as SHOW
from planners.graphseek.results import Cell, Result, ResultStore
from tests.planners.graphseek.operators.plain_oracle import TESTS, aggregated, holds
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


async def run(store: ResultStore, operator: Operator, **arguments: Any) -> Result:
    return await operator.runs(arguments, context(store))


async def rows_of(store: ResultStore, operator: Operator, **arguments: Any) -> list[Row]:
    result = await run(store, operator, **arguments)
    rows = await store.rows(result.handle, limit=10**6)
    assert len(rows) == result.size
    return rows


@settings(max_examples=25)
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
async def test_filter_selects_and_orders_like_a_list(
    store: ResultStore, rows: list[Row], wanted: list[dict[str, Any]], order: str | None, descending: bool, limit: int
) -> None:
    handle = (await kept(store, COLUMNS, rows)).handle
    ordered = {"order_by": order, "descending": descending} if order else {}
    try:
        found = await rows_of(store, FILTER, handle=handle, filters=wanted, limit=limit, **ordered)
    except OperatorFault as fault:
        assert fault.kind == "empty"
        assert any(each["operator"] == "=" and each["value"] == 0.2 for each in wanted)
        found = []
    names = [each.name for each in COLUMNS]
    expected = [row for row in rows if holds(dict(zip(names, row, strict=True)), wanted)]
    if order:
        at = names.index(order)
        cells: set[Any] = {row[at] for row in expected if row[at] is not None}
        values = sorted(cells, reverse=descending)
        with_value = [row for value in values for row in expected if row[at] == value]  # equal ones keep their order
        expected = with_value + [row for row in expected if row[at] is None]
    assert found == expected[:limit]


@settings(max_examples=25)
@given(rows=ROWS, groups=st.sampled_from([[], ["name"], ["tier", "planned"]]))
async def test_filter_groups_and_aggregates_like_a_list(store: ResultStore, rows: list[Row], groups: list[str]) -> None:
    kinds = [("COUNT", "*"), ("COUNT", "name"), ("COUNT_DISTINCT", "tier"), ("SUM", "cost"), ("AVG", "tier"), ("MIN", "cost"), ("MAX", "name")]  # fmt: skip
    aggregations = [{"grouping_type": kind, "property": name} for kind, name in kinds]
    handle = (await kept(store, COLUMNS, rows)).handle
    grouped = {"group_by": groups} if groups else {}
    found = await rows_of(store, FILTER, handle=handle, aggregations=aggregations, **grouped)
    names = [each.name for each in COLUMNS]
    places = [names.index(each) for each in groups]
    by_key: dict[Row, list[Row]] = {} if groups else {(): []}
    for row in rows:
        by_key.setdefault(tuple(row[at] for at in places), []).append(row)
    assert len(found) == len(by_key)
    for (key, members), row in zip(by_key.items(), found, strict=True):
        assert row[: len(places)] == key
        for (kind, name), cell in zip(kinds, row[len(places) :], strict=True):
            expected = len(members) if name == "*" else aggregated([m[names.index(name)] for m in members], kind)
            assert cell == (pytest.approx(expected) if isinstance(expected, float) else expected)


async def test_read_fits_whatever_the_rows(store: ResultStore) -> None:
    wide = (await kept(store, [column(f"c{at}") for at in range(200)], [("한" * 500,) * 200] * 3)).handle
    result = await run(store, READ, handle=wide)
    assert prompt_tokens(result.summary) <= 600
    assert "한" in result.summary


async def test_what_is_shown_is_the_result_itself(store: ResultStore) -> None:
    handle = (await kept(store, COLUMNS, [("a", 1.5, 0, True)])).handle
    result = await run(store, SHOW, handle=handle)
    assert (result.handle, result.kind, store.result(handle).kind) == (handle, "presentation", "table")


def where(key: str, operator: str, value: Any) -> dict[str, Any]:
    return {"handle": "t1", "filters": [{"key": key, "operator": operator, "value": value}]}


def computed(kind: str, name: str, handle: str = "t1") -> dict[str, Any]:
    return {"handle": handle, "aggregations": [{"grouping_type": kind, "property": name}]}


@pytest.mark.parametrize(
    ("operator", "arguments", "kind", "hint"),
    [
        (FILTER, where("nmae", "=", "a"), "unknown name", "nearest is name"),
        (FILTER, {"handle": "t1", "order_by": "COST"}, "unknown name", "nearest is cost"),
        (FILTER, {"handle": "t9"}, "no such handle", "Results are: t1"),
        (FILTER, where("cost", ">", "dear"), "arguments", "number"),
        (FILTER, where("cost", ">", "1e0"), None, ""),
        (FILTER, where("planned", "=", "true"), None, ""),
        (FILTER, where("tier", "contains", "1"), "arguments", "="),
        (FILTER, where("cost", "=", 9.5), "empty", "rounded"),
        (FILTER, computed("SUM", "name"), "arguments", "of numbers"),
        (FILTER, computed("SUM", "n", "t3"), "too large", "fewer"),
        (MERGE, {"handles": ["t1", "t2"], "how": "union"}, "arguments", "t2 has site, label"),
        (READ, {"handle": "t1", "offset": 2}, "empty", "from 0"),
    ],
)
async def test_faults_say_what_to_do(
    store: ResultStore, operator: Operator, arguments: Mapping[str, Any], kind: str, hint: str
) -> None:
    await kept(store, COLUMNS, [("a", 1.5, 0, True), ("b", 3, 1, None)])
    await kept(store, [column("site", "node"), column("label")], [("n1", "a")])
    await kept(store, [column("n", "integer")], [(2**62,), (2**62,), (2**62,)])
    try:
        await operator.runs(arguments, context(store))
        assert kind is None
    except OperatorFault as fault:
        assert (fault.kind, hint in fault.hint) == (kind, True), fault
