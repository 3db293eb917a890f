"""The tool graph of a snapshot for other programs: as a file, in a Neo4j, and as a graph that is asked."""

import importlib.util
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import networkx as nx
import pytest

from inference import HashingEncoder
from ontology import InvalidArgumentError, StorageError
from ontology.tool_effects import known_effect_of
from planners.graphseek.catalog import catalog_for
from planners.stores.bolt import parse_bolt_address
from planners.stores.graph_schema import read_rows_of
from planners.stores.ladybug import open_ladybug_reader
from retrieval.snapshot.graph_views import snapshot_graph
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import build_snapshot
from services.jobs.tool_graph_file import export_graph, tool_graph_file, write_neo4j
from tests.conftest import ROOT
from tests.harness.bolt import Bolt, serving

Graph: TypeAlias = "nx.MultiDiGraph[str]"
needs_neo4j = pytest.mark.skipif(importlib.util.find_spec("neo4j") is None, reason="the extra `neo4j` is not installed")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one document."""
    store = tmp_path_factory.mktemp("sales")
    build_snapshot([str(ROOT / "examples" / "enterprise" / "catalog" / "sales.yaml")], store, encoder=HashingEncoder())
    return store


@pytest.fixture
def graph(store: Path) -> Iterator[Graph]:
    snapshot = open_snapshot(store)
    yield snapshot_graph(snapshot)
    snapshot.release()


@pytest.fixture
def bolt() -> Iterator[Bolt]:
    with serving(Bolt()) as server:
        yield server


def write(port: int, graph: Graph, password: str = "secret") -> None:
    write_neo4j(parse_bolt_address(f"bolt://neo4j:{password}@127.0.0.1:{port}", feature="x"), graph)


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


def test_a_file_holds_the_same_nodes_and_edges_each_time(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    export_graph(graph, path)
    read: Any = nx.node_link_graph(json.loads(path.read_text("utf-8")), name="key", key="key", edges="edges")
    assert nx.get_node_attributes(read, "name") == nx.get_node_attributes(graph, "name")
    assert set(read.edges(keys=True)) == set(graph.edges(keys=True))
    before = path.read_bytes()
    export_graph(graph, path)
    assert path.read_bytes() == before and list(tmp_path.glob(".*")) == []


@needs_neo4j
def test_a_database_holds_the_last_graph_alone(bolt: Bolt, graph: Graph) -> None:
    bolt.nodes["tool:old"] = {}
    for _ in range(2):
        write(bolt.port, graph)
        assert bolt.nodes.keys() == set(graph) and len(bolt.edges) == graph.number_of_edges()
    head, tail, key, data = next(iter(graph.edges(keys=True, data=True)))
    assert bolt.edges[head, tail, data["predicate"].upper(), key]["confidence"] == data["confidence"]


@needs_neo4j
def test_a_password_is_never_shown_and_a_dead_server_is_told(bolt: Bolt) -> None:
    with pytest.raises(StorageError) as caught:
        write(bolt.port, nx.MultiDiGraph(), "h%40nter2")
    assert "bolt://neo4j:***@127.0.0.1" in str(caught.value)
    assert "nter2" not in f"{caught.value} {caught.value!r}" and caught.value.__cause__ is None
    with serving(Bolt()) as server:
        port = server.port
    with pytest.raises(StorageError, match="cannot be read or written"):
        write(port, nx.MultiDiGraph())


@needs_neo4j
@pytest.mark.parametrize("url", ["http://u:hunter2@host", "bolt://", "hunter2", "bolt://u:hun/ter2@127.0.0.1:1x"])
def test_a_malformed_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InvalidArgumentError, match="must be bolt") as caught:
        parse_bolt_address(url, feature="x")
    assert url == "hunter2" or "ter2" not in str(caught.value)
