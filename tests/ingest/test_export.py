"""Exports, read back: the same nodes and edges in every format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import pytest

from ingest.build_report import Counts
from ingest.export import EDGE_COLUMNS, EXPORT_FORMATS, NODE_COLUMNS, NODE_LABEL, clean, export_graph
from ontology import InvalidArgumentError, StorageError
from tests.ingest.graphs import nasty_graph, small_graph

if TYPE_CHECKING:
    Graph = nx.MultiDiGraph[str]

GRAPHS = pytest.mark.parametrize("make", [small_graph, nasty_graph], ids=["plain", "nasty"])


def counts_of(graph: nx.MultiDiGraph[str]) -> Counts:
    return Counts(nodes=graph.number_of_nodes(), edges=graph.number_of_edges())


def _graphml(path: Path) -> tuple[Counts, set[str]]:
    graph: Any = nx.read_graphml(path, force_multigraph=True)
    return counts_of(graph), {data["name"] for _, data in graph.nodes(data=True)}


def _json(path: Path) -> tuple[Counts, set[str]]:
    data = json.loads(path.read_text(encoding="utf-8"))
    graph: Any = nx.node_link_graph(data, name="key", key="key", edges="edges")
    return counts_of(graph), {data["name"] for _, data in graph.nodes(data=True)}


def _cypher(path: Path) -> tuple[Counts, set[str]]:
    ladybug = pytest.importorskip("ladybug", reason="the extra `ladybug` is not installed")
    types = {str: "STRING", int: "INT64", float: "DOUBLE"}
    database = ladybug.Database(str(path.with_suffix(".db")), buffer_pool_size=1 << 28)
    connection = ladybug.Connection(database)
    columns = ", ".join(f"`{name}` {types[type_]}" for name, type_ in NODE_COLUMNS.items())
    connection.execute(f"CREATE NODE TABLE {NODE_LABEL} ({columns}, PRIMARY KEY (key))")
    columns = ", ".join(f"`{name}` {types[type_]}" for name, type_ in EDGE_COLUMNS.items())
    tables = ("HAS_ENTITY", "HAS_PARAMETER", "SUPPLIES")
    for name in tables:
        connection.execute(f"CREATE REL TABLE {name} (FROM {NODE_LABEL} TO {NODE_LABEL}, {columns})")
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line:
            connection.execute(line)
    names = [row[0] for row in connection.execute(f"MATCH (n:{NODE_LABEL}) RETURN n.name").get_all()]
    edges = sum(connection.execute(f"MATCH ()-[e:{name}]->() RETURN count(e)").get_next()[0] for name in tables)
    connection.close()
    database.close()
    return Counts(nodes=len(names), edges=edges), set(names)


def _turtle(path: Path) -> tuple[Counts, set[str]]:
    rdflib = pytest.importorskip("rdflib", reason="rdflib is not installed")
    graph = rdflib.Graph()
    graph.parse(path, format="turtle")
    vocabulary = rdflib.Namespace("urn:egotools:vocabulary:")
    statements = set(graph.subjects(rdflib.RDF.type, rdflib.RDF.Statement))
    for statement in statements:  # each edge is said plainly too
        ends = [graph.value(statement, rdflib.RDF[part]) for part in ("subject", "predicate", "object")]
        assert tuple(ends) in graph
        assert 0 < float(graph.value(statement, vocabulary.confidence)) <= 1
    labels = {str(label) for label in graph.objects(None, rdflib.RDFS.label)}
    nodes = set(graph.subjects(vocabulary.degree, None))
    return Counts(nodes=len(nodes), edges=len(statements)), labels


READERS: dict[str, Callable[[Path], tuple[Counts, set[str]]]] = {
    "cypher": _cypher,
    "graphml": _graphml,
    "json": _json,
    "turtle": _turtle,
}


@GRAPHS
@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_a_file_holds_the_same_nodes_and_edges(tmp_path: Path, format: str, make: Callable[[], Graph]) -> None:
    graph = make()
    path = tmp_path / f"graph.{format}"
    export_graph(graph, path, format)
    counts, names = READERS[format](path)
    assert counts == counts_of(graph)

    def plain(name: str) -> str:  # an XML parser must read every line end as \n
        return name.replace("\r", "\n") if format == "graphml" else name

    assert {plain(name) for name in names} == {plain(clean(data["name"])) for _, data in graph.nodes(data=True)}
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_the_same_graph_gives_the_same_bytes(tmp_path: Path, format: str) -> None:
    for name in ("one", "two"):
        export_graph(nasty_graph(), tmp_path / name, format)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_an_unknown_format_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="cypher, graphml, json, turtle"):
        export_graph(small_graph(), tmp_path / "graph", "dot")


@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_a_folder_that_is_not_there_is_a_storage_error(tmp_path: Path, format: str) -> None:
    with pytest.raises(StorageError, match="No such file"):
        export_graph(small_graph(), tmp_path / "no" / "graph", format)


def test_a_failed_write_leaves_what_stood_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.json"
    path.write_text("before", encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        export_graph(small_graph(), path, "json")
    assert path.read_text(encoding="utf-8") == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.json"]
