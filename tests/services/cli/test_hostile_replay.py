"""``egotools solve --replay`` of journals that say anything, and questions that are no text: errors with names, no tracebacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planners.journal.run_journal import open_run_journal
from tests.harness.commands import Run

HEADER: dict[str, Any] = {
    "run": "solve",
    "question": "Which?",
    "files": [["a.csv", "0" * 64]],
    "language": "cypher",
    "settings": {},
    "models": {},
    "about": {},
    "prices": {},
    "fence_key": "00",
}


def journal_of(path: Path, *records: tuple[str, dict[str, Any]], state: Any = None, **header: Any) -> Path:
    """Write a journal whose lines are whole, whatever they say. A header of None is left out."""
    with open_run_journal(path) as journal:
        journal.append("run_begun", **{key: each for key, each in {**HEADER, **header}.items() if each is not None})
        kept = journal.keep({"nodes": [], "edges": []} if state is None else state)
        journal.append("event", key="event", nth=0, what={"event": "GraphChanged", "iteration": 0}, state=kept)
        for kind, data in records:
            journal.append(kind, **data)
    return path


DIGEST = "0" * 64
ABOUT = {"write": "rules", "domain": "enterprise", "today": "2026-11-20"}
CALL = {"key": "k", "nth": 0, "tool": "a/b", "arguments": DIGEST, "reads": True}
MODEL = {
    "key": "k",
    "nth": 0,
    "step": "s",
    "seconds": 1.0,
    "prompt_tokens": 1,
    "completion_tokens": 1,
    "truncated": False,
    "usd": 0.0,
    "prompt": DIGEST,
    "completion": DIGEST,
}


def replayed(run: Run, path: Path, *records: tuple[str, dict[str, Any]], **header: Any) -> tuple[int, str]:
    ended = ("run_ended", {"answer": DIGEST, "events": 1, "seconds": 1.0})
    journal_of(path, *records, ended, **{"about": ABOUT, **header})
    code, _, err = run("solve", "--replay", "--journal", path)
    return code, err


@pytest.mark.parametrize(
    "header",
    [
        {"fence_key": None},
        {"fence_key": "zz"},
        {"settings": 7},
        {"settings": {"query_limits": 5}},
        {"files": [1]},
        {"about": {**ABOUT, "today": "x"}},
        {"about": {**ABOUT, "today": ""}},
        {"about": {}},
        {"models": {"graph": "m"}, "about": {"write": "model"}},
        {"prices": [1]},
    ],
    ids=str,
)
def test_a_hostile_header_is_an_error_with_a_name(run: Run, tmp_path: Path, header: dict[str, Any]) -> None:
    code, err = replayed(run, tmp_path / "run.jsonl", **header)
    assert code == 2, err
    assert "Traceback" not in err and ("journal" in err or "damage" in err or "run.jsonl" in err)


@pytest.mark.parametrize(
    "record",
    [
        ("call_begun", {**CALL, "key": ["k"]}),
        ("call_begun", {**CALL, "arguments": 7}),
        ("model_ended", {**MODEL, "key": {"a": 1}}),
        ("model_ended", {**MODEL, "prompt_tokens": "many"}),
        ("graph_failed", {"key": "k", "nth": 0}),
        ("sandbox_ended", {"key": "k", "nth": 0, "seconds": 1.0, "result": 5}),
        ("found", {"request": [1], "tools": DIGEST}),
    ],
    ids=str,
)
def test_a_hostile_record_is_an_error_with_a_name(run: Run, tmp_path: Path, record: tuple[str, dict[str, Any]]) -> None:
    code, err = replayed(run, tmp_path / "run.jsonl", record)
    assert code == 2 and "the record is damaged" in err, err
