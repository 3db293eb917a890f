"""What operators say when they give nothing, and what they refuse."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeAlias

import pytest

from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.results import Result
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
Call: TypeAlias = Callable[..., Result]
Fails: TypeAlias = Callable[..., OperatorFault]


@pytest.fixture(scope="module")
def opened(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Runs, Callable[[Coroutine[Any, Any, Any]], Any]]]:
    """A graph for the whole module, and what runs its coroutines."""
    with asyncio.Runner() as runner:
        context = ladybug_runs(_GRAPH, tmp_path_factory.mktemp("graph"), CATALOG)
        yield runner.run(context.__aenter__()), runner.run
        runner.run(context.__aexit__(None, None, None))


@pytest.fixture
def call(opened: tuple[Runs, Callable[[Coroutine[Any, Any, Any]], Any]]) -> Call:
    """Run an operator."""
    runs, run = opened
    return lambda operator, **arguments: run(runs.call(operator, **arguments))


@pytest.fixture
def fails(call: Call) -> Fails:
    """Run an operator that fails."""

    def fault(operator: str, **arguments: Any) -> OperatorFault:
        with pytest.raises(OperatorFault) as raised:
            call(operator, **arguments)
        return raised.value

    return fault


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


def test_that_there_is_none_is_an_answer_where_nothing_is_near(call: Call) -> None:
    assert call("get_nodes", node_type="Person", filters=[{"key": "score", "operator": ">", "value": 5}]).size == 0
    assert call("degree", start={"type": "Person"}, relationship_types=["KNOWS"], at_least=3).size == 0


@pytest.mark.parametrize(("filter", "hint"), FILTERS)
def test_a_filter_of_the_wrong_type(fails: Fails, filter: dict[str, Any], hint: str) -> None:
    fault = fails("get_nodes", node_type="Person", filters=[filter])
    assert (fault.kind, hint in fault.hint) == ("arguments", True), fault


def test_aggregations_that_make_no_sense(fails: Fails) -> None:
    for kind, name in (("SUM", "name"), ("AVG", "born"), ("MAX", "flag"), ("SUM", "*")):
        asked = [{"grouping_type": kind, "property": name}]
        assert fails("get_nodes", node_type="Person", aggregations=asked).kind in ("arguments", "unknown name")
    asked = [{"grouping_type": "SUM", "property": "price"}]
    start = {"type": "Person"}
    assert fails("aggregate_neighbours", start=start, aggregations=asked, group_by="neighbour").kind == "arguments"
    along = {"relationship_property": "weight", "max_hops": 2}
    assert fails("aggregate_neighbours", start=start, aggregations=asked, **along).kind == "arguments"


def test_handles_that_cannot_be_started_from(call: Call, fails: Fails) -> None:
    grouped = call("get_nodes", node_type="Person", group_by=["name"]).handle
    assert fails("traverse", start={"handle": grouped}).kind == "arguments"
    assert fails("traverse", start={"handle": "t999"}).kind in ("unknown name", "no such handle", "arguments")
    table = call("get_nodes", node_type="Person").handle
    assert fails("traverse", start={"handle": table, "column": "name"}).kind == "arguments"
    assert fails("traverse", start={"handle": table, "column": "persom"}).kind == "unknown name"


def test_a_table_is_cut_at_its_limit(call: Call) -> None:
    result = call("get_nodes", node_type="Person", limit=2)
    assert (result.size, result.cut) == (2, True)
    result = call("get_nodes", node_type="Person", limit=3)
    assert (result.size, result.cut) == (3, False)
