"""Edges that somebody gives are scored beside the graph's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.graph_quality import graph_quality, graph_quality_tables, read_given_edges
from inference import HashingEncoder
from ontology.errors import DocumentError
from retrieval.snapshot.reader import Snapshot, open_snapshot
from services.jobs.build import build_snapshot


def _lines(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder = tmp_path_factory.mktemp("given")
    rows = [{"id": name, "name": f"tool {name}"} for name in "abcd"]
    tools = _lines(folder / "tools.jsonl", rows)
    build_snapshot([str(tools)], folder / "store", encoder=HashingEncoder(), cached=False)
    return open_snapshot(folder / "store")


def _score(quality: dict[str, object], group: str) -> dict[str, object]:
    scores = quality["edges"]["scores"]  # type: ignore[index]
    (found,) = [row for row in scores if row["edges"] == group and row["directed"]]
    return {name: (found[name]["hits"], found[name]["of"]) for name in ("precision", "recall")}


def test_given_edges_are_scored_by_the_keys(snapshot: Snapshot, tmp_path: Path) -> None:
    key = _lines(tmp_path / "key.jsonl", [{"from": "b", "to": "a"}, {"from": "c", "to": "a"}])
    # b needs a is true, c needs b is not, d is no tool of the key, and nobody knows z.
    given = {"mine": [("b", "a"), ("c", "b"), ("d", "a"), ("b", "a"), ("z", "a")]}
    quality = graph_quality(snapshot, keys=[key], edges=given)
    assert _score(quality, "mine") == {"precision": (1, 2), "recall": (1, 2)}
    assert quality["edges"]["unknown_given_edges"] == {"mine": 1}
    table = graph_quality_tables(quality)[0]
    assert ("dependency", "mine") in [row[:2] for row in table.rows]
    assert "1 edges of mine name tools" in table.note


def test_nothing_changes_where_nothing_is_given(snapshot: Snapshot, tmp_path: Path) -> None:
    key = _lines(tmp_path / "key.jsonl", [{"from": "b", "to": "a"}])
    assert graph_quality(snapshot, keys=[key]) == graph_quality(snapshot, keys=[key], edges={})


def test_files_are_read_as_source_gives_what_target_needs(tmp_path: Path) -> None:
    rows = [
        {"source": "a", "target": "b", "kind": "R-P"},
        {"source": "a", "target": "c"},
        {"source": "b", "target": "c", "kind": "P-P"},
    ]
    found = read_given_edges([_lines(tmp_path / "mine.jsonl", rows)])
    assert found == {"mine": [("b", "a"), ("c", "a")]}


@pytest.mark.parametrize("line", ["{", '"a"', '{"source": "a"}', "[1]"])
def test_a_row_that_is_no_edge_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"source": "a", "target": "b"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(DocumentError, match="'source' and 'target'") as raised:
        read_given_edges([path])
    assert raised.value.subject == f"{path}:2"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        read_given_edges([tmp_path / "none.jsonl"])
