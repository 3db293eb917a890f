"""Conversions: a graph goes through any two stores and keeps every node, edge, property and type."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ontology.errors import InvalidArgumentError, StorageError
from planners.stores import open_graph
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import Operation, ReplaceGraph
from tests.planners.stores.conftest import Driven
from tests.planners.stores.graph_operations import LABELS, OPERATIONS, PROPERTIES, TYPES, PlainGraph
from tests.planners.stores.stores import PARAMS, STORES, contents


@pytest.fixture(params=PARAMS)
def second(request: pytest.FixtureRequest) -> Iterator[Driven]:
    """A graph of each store, opened besides another."""
    with asyncio.Runner() as runner:
        context = STORES[request.param](request)
        yield runner.run(context.__aenter__()), runner.run
        runner.run(context.__aexit__(None, None, None))


@st.composite
def _graphs(draw: st.DrawFn) -> PlainGraph:
    plain = PlainGraph()
    plain.nodes = draw(st.lists(st.tuples(st.sampled_from(LABELS), PROPERTIES), min_size=1, max_size=8))
    ends = st.integers(0, len(plain.nodes) - 1)
    plain.edges = draw(st.lists(st.tuples(st.sampled_from(TYPES), ends, ends, PROPERTIES), max_size=10))
    return plain


_MORE = st.lists(OPERATIONS, max_size=4)
_CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=10, deadline=None, suppress_health_check=_CHECKS)
@given(plain=_graphs(), more=_MORE)
def test_every_node_edge_property_and_type_is_kept(second: Driven, plain: PlainGraph, more: list[Operation]) -> None:
    """From memory to each store, and from there back: so all pairs of stores, since memory is in the middle of each."""
    graph, run = second
    before, after = MemoryGraph(), MemoryGraph()
    run(before.apply([ReplaceGraph(state=plain.state()), *more]))
    state = run(before.state())
    run(graph.apply([ReplaceGraph(state=state)]))
    assert run(graph.state()) == state
    run(after.apply([ReplaceGraph(state=run(graph.state()))]))
    assert contents(run(after.state())) == contents(state)


@pytest.mark.parametrize("address", ["", "oracle", "neo4j", "memory:x", "ladybug:x"])
async def test_an_address_that_is_none_lists_those_there_are(address: str) -> None:
    with pytest.raises(InvalidArgumentError, match="memory, neo4j:bolt"):
        async with open_graph(address):
            pass


async def test_a_store_that_cannot_be_reached_says_so() -> None:
    pytest.importorskip("pyoxigraph", reason="the extra `rdf` is not installed")
    with pytest.raises(StorageError):
        async with open_graph("rdf:http://127.0.0.1:9"):
            pass
