"""The comparison of two recordings fails on whatever is not the same on both sides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import ModelError
from scripts.unchanged import ScriptedReranker, compare


def recording(folder: Path, **files: list[Any]) -> Path:
    folder.mkdir()
    for name, rows in files.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}-small.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_equal_recordings_are_the_same(tmp_path: Path) -> None:
    before = recording(tmp_path / "before", answers=[["default", "q", []]])
    assert compare(before, recording(tmp_path / "after", answers=[["default", "q", []]])) == 0


def test_another_answer_is_different(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = recording(tmp_path / "before", answers=[["default", "q", []]])
    after = recording(tmp_path / "after", answers=[["default", "q", [["tool", 1.0, None]]]])
    assert compare(before, after) == 1
    assert "DIFFERENT     answers-small.jsonl" in capsys.readouterr().out


@pytest.mark.parametrize(("before", "after"), [((), ("tuned",)), (("tuned",), ())])
def test_a_file_on_one_side_is_different_unless_it_is_allowed(
    tmp_path: Path, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    rows: list[Any] = [["default", "q", []]]
    old = recording(tmp_path / "before", answers=rows, **dict.fromkeys(before, rows))
    new = recording(tmp_path / "after", answers=rows, **dict.fromkeys(after, rows))
    assert compare(old, new) == 1
    assert compare(old, new, ["tuned-small.jsonl"]) == 0


def test_two_empty_recordings_are_not_the_same(tmp_path: Path) -> None:
    assert compare(recording(tmp_path / "before"), recording(tmp_path / "after")) == 1


def manifest(**changes: object) -> dict[str, object]:
    return {"snapshot_id": "a", "format_version": 3, "extractor": "rules.v1", "ranking": None, **changes}


@pytest.mark.parametrize(
    ("changes", "different"),
    [
        ({"snapshot_id": "b", "format_version": 2}, 0),
        ({"extractor": "rules.v2"}, 1),
        ({"ranking": {"weights": {"graph_support": 2.0}}}, 1),
    ],
)
def test_a_manifest_is_compared_by_its_content(tmp_path: Path, changes: dict[str, object], different: int) -> None:
    before = recording(tmp_path / "before", snapshot=[{"id": "a"}, {"tools.jsonl": "0"}, manifest()])
    after = recording(tmp_path / "after", snapshot=[{"id": "b"}, {"tools.jsonl": "0"}, manifest(**changes)])
    assert compare(before, after) == different


def test_a_renamed_weight_is_the_same_weight(tmp_path: Path) -> None:
    before = recording(tmp_path / "before", tuned=[{"weights": {"clause_votes": 1.5}}])
    assert compare(before, recording(tmp_path / "after", tuned=[{"weights": {"clause_fusion": 1.5}}])) == 0


def test_the_score_of_the_scripted_reranker_depends_on_request_and_text() -> None:
    scores = ScriptedReranker().score("a request", ["one", "other", "one"])
    assert scores[0] == scores[2] != scores[1]
    assert ScriptedReranker().score("another request", ["one"])[0] != scores[0]
    with pytest.raises(ModelError, match="it is down"):
        ScriptedReranker(down=True).score("a request", ["one"])
