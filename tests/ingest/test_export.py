"""Exports, read back: the same nodes and edges in every format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import pytest

from ingest.build_report import Counts
from ingest.export import EXPORT_FORMATS, clean, export_graph
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


READERS: dict[str, Callable[[Path], tuple[Counts, set[str]]]] = {"graphml": _graphml, "json": _json}


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
    with pytest.raises(InvalidArgumentError, match="graphml, json; egotools export neo4j"):
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
