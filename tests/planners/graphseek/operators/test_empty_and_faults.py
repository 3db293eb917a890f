"""What operators say when they give nothing, and what they refuse."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from planners.graphseek.operators.operator import OperatorFault
from tests.planners.graphseek.operators.operator_runs import Runs, ladybug_runs
from tests.planners.graphseek.operators.random_graph import Edge, RandomGraph
from tests.planners.graphseek.operators.test_operator_oracle import CATALOG

_GRAPH = RandomGraph(
    types={"P1": "Person", "P2": "Person", "P3": "Person", "G1": "Gamma", "B1": "Bau-Teil é"},
    properties={
        "P1": {"key": "P1", "name": "Factory Alpha - Northern Division", "price": 99.41998455706677, "score": 1},
        "P2": {"key": "P2", "name": "Ann", "price": 2.5, "score": 2, "flag": True, "born": "2021-05-15"},
        "P3": {"key": "P3", "name": "Annette"},
        "G1": {"key": "G1", "name": "Gear"},
        "B1": {"key": "B1", "name": "Bolt"},
    },
    edges=(
        Edge("KNOWS", "P1", "P2"),
        Edge("KNOWS", "P1", "B1", {"year": 2023}),
        Edge("MADE-OF", "B1", "G1", {"year": 2022, "weight": 1.5}),
    ),
)
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runs(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Runs]:
    async with ladybug_runs(_GRAPH, tmp_path_factory.mktemp("graph"), CATALOG) as opened:
        yield opened


async def fault(runs: Runs, operator: str, **arguments: Any) -> OperatorFault:
    with pytest.raises(OperatorFault) as raised:
        await runs.call(operator, **arguments)
    return raised.value


FILTERS = [
    ({"key": "score", "operator": "=", "value": "many"}, "Give a number"),
    ({"key": "name", "operator": "=", "value": 3}, "Give a string"),
    ({"key": "name", "operator": "=", "value": "a\x00b"}, "Give a string"),
    ({"key": "score", "operator": "contains", "value": "1"}, "Use ="),
    ({"key": "flag", "operator": "<", "value": True}, "Use ="),
    ({"key": "born", "operator": "<", "value": "May 2021"}, "a date like 2024-03-31"),
    ({"key": "score", "operator": "<", "value": 1000000000000000000000000000000}, "Give a number"),
    ({"key": "score", "operator": "in", "value": []}, "Give 1 to 1,000"),
]


async def test_that_there_is_none_is_an_answer_where_nothing_is_near(runs: Runs) -> None:
    above = [{"key": "score", "operator": ">", "value": 5}]
    assert await runs.rows("get_nodes", node_type="Person", filters=above) == []
    assert await runs.rows("degree", start={"type": "Person"}, relationship_types=["KNOWS"], at_least=3) == []


@pytest.mark.parametrize(("filter", "hint"), FILTERS)
async def test_a_filter_of_the_wrong_type(runs: Runs, filter: dict[str, Any], hint: str) -> None:
    found = await fault(runs, "get_nodes", node_type="Person", filters=[filter])
    assert (found.kind, hint in found.hint) == ("arguments", True), found


async def test_aggregations_that_make_no_sense(runs: Runs) -> None:
    for kind, name in (("SUM", "name"), ("AVG", "born"), ("MAX", "flag"), ("SUM", "*")):
        asked = [{"grouping_type": kind, "property": name}]
        found = await fault(runs, "get_nodes", node_type="Person", aggregations=asked)
        assert found.kind in ("arguments", "unknown name")
    asked = [{"grouping_type": "SUM", "property": "price"}]
    for along in ({"group_by": "neighbour"}, {"relationship_property": "weight", "max_hops": 2}):
        found = await fault(runs, "aggregate_neighbours", start={"type": "Person"}, aggregations=asked, **along)
        assert found.kind == "arguments"


async def test_handles_that_cannot_be_started_from(runs: Runs) -> None:
    grouped = await runs.call("get_nodes", node_type="Person", group_by=["name"])
    table = await runs.call("get_nodes", node_type="Person")
    for start, kind in (
        ({"handle": grouped.handle}, "arguments"),
        ({"handle": "t999"}, "unknown name"),
        ({"handle": table.handle, "column": "name"}, "arguments"),
        ({"handle": table.handle, "column": "persom"}, "unknown name"),
    ):
        assert (await fault(runs, "traverse", start=start)).kind == kind


async def test_a_table_is_cut_at_its_limit(runs: Runs) -> None:
    result = await runs.call("get_nodes", node_type="Person", limit=2)
    assert (result.size, result.cut) == (2, True)
    result = await runs.call("get_nodes", node_type="Person", limit=3)
    assert (result.size, result.cut) == (3, False)
