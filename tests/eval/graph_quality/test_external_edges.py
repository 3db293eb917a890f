"""External edges are scored beside the graph's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from eval.graph_quality import GraphQuality, graph_quality, read_external_edges
from eval.report import graph_section
from inference import HashingEncoder
from ontology.errors import DocumentError
from retrieval.snapshot.reader import Snapshot, open_snapshot
from services.jobs.build import build_snapshot


def _lines(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder = tmp_path_factory.mktemp("given")
    rows = [{"id": name, "name": f"tool {name}", "parameters": []} for name in "abcd"]
    tools = _lines(folder / "tools.jsonl", rows)
    build_snapshot([str(tools)], folder / "store", encoder=HashingEncoder(), cached=False)
    return open_snapshot(folder / "store")


def _score(quality: GraphQuality, group: str) -> dict[str, tuple[int, int]]:
    assert quality.edges is not None
    (found,) = [row for row in quality.edges.scores if row.edges == group and row.directed]
    shares = {"precision": found.precision, "recall": found.recall}
    return {name: (share.hits, share.of) for name, share in shares.items()}


def test_given_edges_are_scored_by_the_keys(snapshot: Snapshot, tmp_path: Path) -> None:
    key = _lines(tmp_path / "key.jsonl", [{"from": "b", "to": "a"}, {"from": "c", "to": "a"}])
    # b needs a is true, c needs b is not, d is no tool of the key, and nobody knows z.
    given = {"mine": [("b", "a"), ("c", "b"), ("d", "a"), ("b", "a"), ("z", "a")]}
    quality = graph_quality(snapshot, gold_edges=[key], external_edges=given)
    assert _score(quality, "mine") == {"precision": (1, 2), "recall": (1, 2)}
    assert quality.edges is not None
    assert quality.edges.unknown_external_edges == {"mine": 1}
    page = graph_section(quality, title="graph")
    assert "| dependency | mine |" in page
    assert "1 edges of mine name tools" in page


def test_nothing_changes_where_nothing_is_given(snapshot: Snapshot, tmp_path: Path) -> None:
    key = _lines(tmp_path / "key.jsonl", [{"from": "b", "to": "a"}])
    assert graph_quality(snapshot, gold_edges=[key]) == graph_quality(snapshot, gold_edges=[key], external_edges={})


def test_files_are_read_as_source_gives_what_target_needs(tmp_path: Path) -> None:
    rows = [
        {"source": "a", "target": "b", "kind": "R-P"},
        {"source": "a", "target": "c"},
        {"source": "b", "target": "c", "kind": "P-P"},
    ]
    found = read_external_edges([_lines(tmp_path / "mine.jsonl", rows)])
    assert found == {"mine": [("b", "a"), ("c", "a")]}


@pytest.mark.parametrize("line", ["{", '"a"', '{"source": "a"}', "[1]"])
def test_a_row_that_is_no_edge_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"source": "a", "target": "b"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(DocumentError, match="'source' and 'target'") as raised:
        read_external_edges([path])
    assert raised.value.subject == f"{path}:2"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        read_external_edges([tmp_path / "none.jsonl"])
