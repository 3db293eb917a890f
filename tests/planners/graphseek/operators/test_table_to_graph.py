from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from planners.graphseek.operators.operator import OperatorContext, OperatorFault
from planners.graphseek.operators.retrieve import get_nodes as GET_NODES
from planners.graphseek.operators.slice import subgraph as SUBGRAPH
from planners.graphseek.operators.slice import to_graph as TO_GRAPH
from planners.graphseek.operators.table import to_table as TO_TABLE
from planners.graphseek.results.result import GraphPart
from planners.graphseek.results.result_store import ResultStore
from planners.stores.ladybug.ladybug_reader import open_ladybug_reader
from tests.planners.graphseek.agent.small_ev import write_small_ev
from tests.planners.graphseek.results.stores import context


@pytest.fixture
async def ev(tmp_path: Path) -> AsyncIterator[OperatorContext]:
    write_small_ev(tmp_path / "ev.lbug")
    store = ResultStore(tmp_path / "run")
    async with open_ladybug_reader(tmp_path / "ev.lbug") as graph:
        yield replace(context(store), graph=graph, schema=await graph.schema())
    store.close()


async def test_nodes_become_a_graph_with_what_is_among_or_around_them(ev: OperatorContext) -> None:
    x7 = {"type": "VehicleModel", "filters": [{"key": "name", "operator": "=", "value": "EV-X7"}]}
    whole = await ev.results.graph((await SUBGRAPH.run({"start": x7}, ev)).handle)
    nodes = (await TO_TABLE.run({"handle": "g1", "what": "nodes"}, ev)).handle
    again = await ev.results.graph((await TO_GRAPH.run({"handle": nodes}, ev)).handle)
    assert names(again) == names(whole)
    assert edges(again) == edges(whole)
    assert len(edges(again)) == 6  # four flows into the model, and the sites where it and the battery are built

    models = await GET_NODES.run({"node_type": "VehicleModel"}, ev)
    alone = await TO_GRAPH.run({"handle": models.handle}, ev)
    assert (alone.size, alone.notes) == (4, ("There are no relationships among them.",))
    around = await ev.results.graph((await TO_GRAPH.run({"handle": models.handle, "max_hops": 1}, ev)).handle)
    assert {each.type for each in around.nodes} == {"VehicleModel", "BatteryModule", "DriveAssembly", "FactorySite"}


async def test_a_table_without_nodes_is_a_fault(ev: OperatorContext) -> None:
    counted = await GET_NODES.run({"node_type": "Region", "aggregations": [{"grouping_type": "COUNT"}]}, ev)
    with pytest.raises(OperatorFault, match="no column of nodes"):
        await TO_GRAPH.run({"handle": counted.handle}, ev)


def names(part: GraphPart) -> list[str]:
    return sorted(str(each.properties["name"]) for each in part.nodes)


def edges(part: GraphPart) -> list[str]:
    shown: Callable[[str], object] = {each.id: each.properties["name"] for each in part.nodes}.__getitem__
    return sorted(f"{shown(e.source)} {e.type} {shown(e.target)} {sorted(e.properties.items())}" for e in part.edges)
