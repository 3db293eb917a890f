"""The tool graph of a snapshot for other programs: as a file, in a Neo4j, and as a graph that is asked."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import networkx as nx
import pytest

from ingest.neo4j import parse_bolt_address, write_neo4j
from ontology import InvalidArgumentError, StorageError
from ontology.tool_effects import known_effect_of
from planners.graphseek.catalog import catalog_for
from planners.stores.graph_schema import read_rows_of
from planners.stores.ladybug import open_ladybug_reader
from retrieval.snapshot.graph_views import snapshot_graph
from retrieval.snapshot.reader import open_snapshot
from services.jobs.tool_graph_file import export_graph, tool_graph_file
from tests.conftest import ROOT
from tests.harness.servers import free_port
from tests.harness.stores import BuiltStore
from tests.planners.stores.neo4j_server import running_neo4j

Graph: TypeAlias = "nx.MultiDiGraph[str]"


@pytest.fixture(scope="module")
def store(store_of: BuiltStore) -> Path:
    """A store of one document."""
    return store_of(str(ROOT / "examples" / "enterprise" / "catalog" / "sales.yaml"), "hashing.v1")


@pytest.fixture
def graph(store: Path) -> Iterator[Graph]:
    snapshot = open_snapshot(store)
    yield snapshot_graph(snapshot)
    snapshot.release()


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


@pytest.mark.slow
def test_a_real_database_holds_the_last_graph_alone(graph: Graph, tmp_path: Path) -> None:
    neo4j = pytest.importorskip("neo4j", reason="the extra `neo4j` is not installed")
    count = "MATCH (n:EgotoolsNode) OPTIONAL MATCH (n)-[e]->() RETURN count(DISTINCT n), count(e)"
    with running_neo4j(tmp_path) as address, neo4j.GraphDatabase.driver(address) as driver:
        for _ in range(2):
            write_neo4j(parse_bolt_address(address, feature="x"), graph)
        [found] = driver.execute_query(count).records
    assert tuple(found) == (graph.number_of_nodes(), graph.number_of_edges())


def test_a_dead_server_is_told_without_the_password() -> None:
    pytest.importorskip("neo4j", reason="the extra `neo4j` is not installed")
    address = parse_bolt_address(f"bolt://neo4j:h%40nter2@127.0.0.1:{free_port()}", feature="x")
    with pytest.raises(StorageError, match="cannot be read or written") as caught:
        write_neo4j(address, nx.MultiDiGraph())
    assert "bolt://neo4j:***@127.0.0.1" in str(caught.value)
    assert "nter2" not in f"{caught.value} {caught.value!r}" and caught.value.__cause__ is None


@pytest.mark.parametrize("url", ["http://u:hunter2@host", "bolt://", "hunter2", "bolt://u:hun/ter2@127.0.0.1:1x"])
def test_a_malformed_address_is_refused_without_its_password(url: str) -> None:
    pytest.importorskip("neo4j", reason="the extra `neo4j` is not installed")
    with pytest.raises(InvalidArgumentError, match="must be bolt") as caught:
        parse_bolt_address(url, feature="x")
    assert url == "hunter2" or "ter2" not in str(caught.value)
