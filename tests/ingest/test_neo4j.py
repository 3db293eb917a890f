"""A tool graph in a Neo4j database: what is sent over Bolt, what another build left, and errors without passwords."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from ingest.graph import build_graph
from ingest.neo4j import parse_bolt_address, write_neo4j
from ontology import InvalidArgumentError, StorageError
from tests.harness.graphs import as_networkx
from tests.ingest.bolt import Bolt, serving
from tests.ingest.graphs import nasty_graph, small_graph

if TYPE_CHECKING:
    import networkx as nx

    Graph = nx.MultiDiGraph[str]

pytestmark = pytest.mark.skipif(importlib.util.find_spec("neo4j") is None, reason="the extra `neo4j` is not installed")


@pytest.fixture
def bolt() -> Iterator[Bolt]:
    with serving(Bolt()) as server:
        yield server


def write(port: int, graph: Graph, password: str = "secret") -> None:
    write_neo4j(parse_bolt_address(f"bolt://neo4j:{password}@127.0.0.1:{port}", feature="x"), graph)


@pytest.mark.parametrize(
    "make", [small_graph, nasty_graph, lambda: as_networkx(build_graph([], []))], ids=["plain", "nasty", "empty"]
)
def test_a_database_holds_the_last_graph_alone(bolt: Bolt, make: Callable[[], Graph]) -> None:
    bolt.nodes["tool:old"] = {"build": "before"}
    bolt.edges["tool:old", "tool:old", "SUPPLIES", "supplies:x"] = {"build": "before"}
    write(bolt.port, nasty_graph())
    write(bolt.port, graph := make())
    write(bolt.port, graph)
    assert bolt.statements[0].startswith("CREATE CONSTRAINT egotools_node_key IF NOT EXISTS")
    assert (len(bolt.nodes), len(bolt.edges)) == (graph.number_of_nodes(), graph.number_of_edges())
    assert "tool:old" not in bolt.nodes


def test_edges_have_their_attributes(bolt: Bolt) -> None:
    write(bolt.port, small_graph())
    assert set(bolt.nodes) == set(small_graph())
    edge = bolt.edges["tool:list_orders", "tool:ship_order", "SUPPLIES", "supplies:other"]
    assert (edge["confidence"], edge["output"], edge["evidence_count"]) == (1.0, "id", 2)


def test_other_counts_are_an_error(bolt: Bolt) -> None:
    bolt.lose = 1
    with pytest.raises(StorageError, match="after 5 nodes"):
        write(bolt.port, small_graph())


def test_a_wrong_password_is_never_shown(bolt: Bolt) -> None:
    with pytest.raises(StorageError) as caught:
        write(bolt.port, small_graph(), "h%40nter2")
    assert "bolt://neo4j:***@127.0.0.1" in str(caught.value)
    assert "nter2" not in f"{caught.value} {caught.value!r}" and caught.value.__cause__ is None


def test_a_refused_statement_and_a_dead_server_are_told(bolt: Bolt, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Bolt()) as server:
        port = server.port
    with pytest.raises(StorageError, match="cannot be read or written"):
        write(port, small_graph())

    def reject(self: Bolt, statement: str, parameters: object) -> list[list[object]]:
        raise ValueError("no writing here")

    monkeypatch.setattr(Bolt, "run", reject)
    with pytest.raises(StorageError, match="no writing here"):
        write(bolt.port, small_graph())


@pytest.mark.parametrize("url", ["http://u:hunter2@host", "bolt://", "hunter2", "bolt://u:hun/ter2@127.0.0.1:1x"])
def test_a_malformed_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InvalidArgumentError, match="must be bolt") as caught:
        parse_bolt_address(url, feature="x")
    assert url == "hunter2" or "ter2" not in str(caught.value)
