"""The tool graph of a snapshot as a graph that is asked: all nodes and edges, effects of tools, loaded once for each snapshot."""

from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

from inference import HashingEncoder
from ontology.tool_effects import known_effect_of
from planners.graphseek.catalog import catalog_for
from planners.stores.graph_schema import read_rows_of
from planners.stores.ladybug import open_ladybug_reader
from retrieval.snapshot.graph_views import snapshot_graph
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import build_snapshot
from services.jobs.tool_graph_file import tool_graph_file
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one document."""
    store = tmp_path_factory.mktemp("sales")
    build_snapshot([str(ROOT / "examples" / "enterprise" / "catalog" / "sales.yaml")], store, encoder=HashingEncoder())
    return store


async def test_the_graph_has_the_nodes_edges_and_effects_of_the_snapshot(store: Path, tmp_path: Path) -> None:
    snapshot = open_snapshot(store)
    truth = snapshot_graph(snapshot)
    async with open_ladybug_reader(tool_graph_file(store, tmp_path)) as graph:
        schema = await graph.schema()
        kinds = Counter(truth.nodes[each]["type"] for each in truth)
        assert dict(map(tuple, await read_rows_of(graph, "MATCH (n) RETURN label(n), count(*)"))) == kinds
        assert {each.name for each in schema.nodes} == kinds.keys()
        edges = Counter(str(kind).upper() for kind in nx.get_edge_attributes(truth, "predicate").values())
        assert dict(map(tuple, await read_rows_of(graph, "MATCH ()-[r]->() RETURN label(r), count(*)"))) == edges
        rows = await read_rows_of(graph, "MATCH (n) RETURN n.id, label(n), n.effect")
        effects = {tool.id: known_effect_of(tool) for tool in snapshot.tools}
        assert {id_: effect for id_, kind, effect in rows if kind == "tool"} == effects
        assert {effect for _, kind, effect in rows if kind != "tool"} == {None}
        filled = {each.name: [key.name for key in each.properties] for each in schema.relationships}
        assert filled["ACTS_ON"] == ["confidence"] and {"parameter", "output"} < set(filled["SUPPLIES"])
        catalog = catalog_for(schema)
        assert all(each.name in catalog.nodes for each in schema.nodes)
    snapshot.release()
