"""An export, read back: the same nodes and edges."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import pytest

from ingest.export import clean, export_graph
from ontology import StorageError
from tests.ingest.graphs import nasty_graph, small_graph

if TYPE_CHECKING:
    Graph = nx.MultiDiGraph[str]


@pytest.mark.parametrize("make", [small_graph, nasty_graph], ids=["plain", "nasty"])
def test_a_file_holds_the_same_nodes_and_edges_each_time(tmp_path: Path, make: Callable[[], Graph]) -> None:
    graph, path = make(), tmp_path / "graph.json"
    export_graph(graph, path)
    data = json.loads(path.read_text(encoding="utf-8"))
    read: Any = nx.node_link_graph(data, name="key", key="key", edges="edges")
    assert (read.number_of_nodes(), read.number_of_edges()) == (graph.number_of_nodes(), graph.number_of_edges())
    assert {data["name"] for _, data in read.nodes(data=True)} == {
        clean(data["name"]) for _, data in graph.nodes(data=True)
    }
    before = path.read_bytes()
    export_graph(make(), path)
    assert path.read_bytes() == before and list(tmp_path.glob(".*")) == []


def test_a_failed_write_leaves_what_stood_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.json"
    path.write_text("before", encoding="utf-8")
    with pytest.raises(StorageError, match="No such file"):
        export_graph(small_graph(), tmp_path / "no" / "graph.json")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        export_graph(small_graph(), path)
    assert path.read_text(encoding="utf-8") == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.json"]
