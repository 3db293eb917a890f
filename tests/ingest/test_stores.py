"""Graph stores: one conformance suite over all, then what each does when things go wrong."""

from __future__ import annotations

import importlib.util
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.export import node_rows
from ingest.graph import build_graph
from ingest.stores import Counts, GraphStore, LadybugStore, Neo4jStore, open_store
from ingest.stores.graph_store import counts_of
from ingest.stores.ladybug_building import building_ladybug
from ontology import InvalidArgumentError, MissingExtraError, StorageError, load_ontology
from tests.ingest.bolt import Bolt, serving
from tests.ingest.graphs import nasty_graph, small_graph

if TYPE_CHECKING:
    import networkx as nx

    Graph = nx.MultiDiGraph[str]


@pytest.fixture
def bolt() -> Iterator[Bolt]:
    with serving(Bolt()) as server:
        yield server


@pytest.fixture(params=["memory", "ladybug", "neo4j"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> GraphStore:
    if request.param == "memory":
        return open_store("memory")
    pytest.importorskip(request.param, reason=f"the extra `{request.param}` is not installed")
    if request.param == "ladybug":
        return open_store(f"ladybug:{tmp_path / 'graph.db'}")
    server: Bolt = request.getfixturevalue("bolt")
    return open_store(f"neo4j:bolt://neo4j:secret@127.0.0.1:{server.port}")


@pytest.mark.parametrize("make", [small_graph, nasty_graph], ids=["plain", "nasty"])
def test_a_store_holds_what_was_written(store: GraphStore, make: Callable[[], Graph]) -> None:
    graph = make()
    assert store.write(graph) == counts_of(graph) == store.counts()


def test_writing_again_replaces(store: GraphStore) -> None:
    store.write(nasty_graph())
    store.write(small_graph())
    assert store.write(small_graph()) == counts_of(small_graph()) == store.counts()
    empty = build_graph([], [], load_ontology())
    assert store.write(empty) == store.counts() == Counts(nodes=0, edges=0)


def test_ladybug_files_are_built_aside_in_folders_of_their_own_and_those_of_dead_processes_are_removed(
    tmp_path: Path,
) -> None:
    for process in (999_999_999, os.getpid()):  # no system gives such a number
        (tmp_path / f".other.{process}-abcd_123.part").mkdir()
    path = tmp_path / "graph.db"
    with building_ladybug(path) as one, building_ladybug(path) as other:
        assert one.parent != other.parent and stat.S_IMODE(one.parent.stat().st_mode) == 0o700
        one.write_text("one", encoding="utf-8")
        other.write_text("other", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "one", "the outer block ends last"
    assert {each.name for each in tmp_path.iterdir()} == {"graph.db", f".other.{os.getpid()}-abcd_123.part"}


def test_ladybug_answers_cypher(tmp_path: Path) -> None:
    ladybug = pytest.importorskip("ladybug", reason="the extra `ladybug` is not installed")
    path = tmp_path / "graph.db"
    LadybugStore(path).write(nasty_graph())
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.db"]
    database = ladybug.Database(str(path), read_only=True, buffer_pool_size=1 << 28)
    connection = ladybug.Connection(database)
    nodes = connection.execute(
        "MATCH (n:EgotoolsNode) RETURN n.key, n.name, n.text, n.degree, n.surface_forms"
    ).get_all()
    rows = connection.execute(
        "MATCH (a:EgotoolsNode)-[e:SUPPLIES]->(b:EgotoolsNode) RETURN a.type, b.type, e.confidence, e.output"
    ).get_all()
    connection.close()
    database.close()
    columns = ("key", "name", "text", "degree", "surface_forms")
    assert sorted(nodes) == sorted([row[column] for column in columns] for row in node_rows(nasty_graph()))
    assert rows == [["tool", "tool", 1.0, "id"]] * 2


def test_ladybug_on_a_file_that_is_no_database(tmp_path: Path) -> None:
    pytest.importorskip("ladybug", reason="the extra `ladybug` is not installed")
    path = tmp_path / "graph.db"
    path.write_bytes(b"this is not a database" * 1_000)
    with pytest.raises(StorageError, match="cannot be read"):
        LadybugStore(path).counts()


def test_a_failed_build_leaves_the_old_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ladybug", reason="the extra `ladybug` is not installed")
    store = LadybugStore(tmp_path / "graph.db")
    store.write(small_graph())
    monkeypatch.setattr("ingest.stores.ladybug._counts", lambda _: Counts(nodes=1, edges=1))
    with pytest.raises(StorageError, match="1 nodes and 1 edges"):
        store.write(nasty_graph())
    monkeypatch.undo()
    assert store.counts() == counts_of(small_graph())
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.db"]


@pytest.mark.skipif(importlib.util.find_spec("neo4j") is None, reason="the extra `neo4j` is not installed")
class TestNeo4j:
    def test_the_exchange(self, bolt: Bolt, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ingest.stores.neo4j._ROWS_A_BATCH", 2)
        graph = small_graph()
        Neo4jStore(f"bolt://neo4j:secret@127.0.0.1:{bolt.port}").write(graph)
        assert bolt.largest_batch == 2
        assert bolt.statements[0].startswith("CREATE CONSTRAINT egotools_node_key IF NOT EXISTS")
        assert set(bolt.nodes) == set(graph)
        assert {(head, tail, key) for head, tail, _, key in bolt.edges} == set(graph.edges(keys=True))
        edge = bolt.edges["tool:list_orders", "tool:ship_order", "SUPPLIES", "supplies:other"]
        assert (edge["confidence"], edge["output"], edge["evidence_count"]) == (1.0, "id", 2)

    def test_what_another_build_left_is_removed(self, bolt: Bolt) -> None:
        bolt.nodes["tool:old"] = {"build": "before"}
        bolt.edges["tool:old", "tool:old", "SUPPLIES", "supplies:x"] = {"build": "before"}
        Neo4jStore(f"bolt://neo4j:secret@127.0.0.1:{bolt.port}").write(small_graph())
        assert "tool:old" not in bolt.nodes
        assert len(bolt.edges) == small_graph().number_of_edges()

    def test_other_counts_are_an_error(self, bolt: Bolt) -> None:
        bolt.lose = 1
        with pytest.raises(StorageError, match="after 5 nodes"):
            Neo4jStore(f"bolt://neo4j:secret@127.0.0.1:{bolt.port}").write(small_graph())

    def test_a_password_with_a_slash_is_never_shown(self) -> None:
        with pytest.raises(InvalidArgumentError, match="must be bolt") as caught:
            Neo4jStore("bolt://u:S3/CRET@127.0.0.1:1x")
        assert "CRET" not in str(caught.value)

    def test_a_wrong_password_is_never_shown(self, bolt: Bolt) -> None:
        store = Neo4jStore(f"bolt://neo4j:h%40nter2@127.0.0.1:{bolt.port}")
        with pytest.raises(StorageError) as caught:
            store.counts()
        assert "bolt://neo4j:***@127.0.0.1" in str(caught.value)
        for text in (str(caught.value), repr(store), repr(caught.value)):
            assert "nter2" not in text
        assert caught.value.__cause__ is None

    def test_a_refused_statement_is_told(self, bolt: Bolt, monkeypatch: pytest.MonkeyPatch) -> None:
        def reject(self: Bolt, statement: str, parameters: object) -> list[list[object]]:
            raise ValueError("no writing here")

        monkeypatch.setattr(Bolt, "run", reject)
        with pytest.raises(StorageError, match="no writing here"):
            Neo4jStore(f"bolt://neo4j:secret@127.0.0.1:{bolt.port}").write(small_graph())

    def test_a_dead_server_is_told(self) -> None:
        with serving(Bolt()) as server:
            port = server.port
        with pytest.raises(StorageError, match="cannot be read or written"):
            Neo4jStore(f"bolt://neo4j:secret@127.0.0.1:{port}").counts()

    @pytest.mark.parametrize("url", ["http://u:hunter2@host", "bolt://", "hunter2"])
    def test_a_malformed_address(self, url: str) -> None:
        with pytest.raises(InvalidArgumentError, match="bolt") as caught:
            open_store(f"neo4j:{url}")
        assert url == "hunter2" or "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["", "postgres:x", "memory:x", "ladybug", "ladybug:", "neo4j:", "redis://u:hunter2@h"]
)
def test_an_unknown_address_lists_the_known_ones(address: str) -> None:
    with pytest.raises(InvalidArgumentError, match="memory, ladybug:PATH, neo4j:bolt") as caught:
        open_store(address)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "extra"), [("ladybug:x.db", "default"), ("neo4j:bolt://host", "neo4j")], ids=["ladybug", "neo4j"]
)
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, address: str, extra: str) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=rf"requirements/{extra}\.txt"):
        open_store(address)
