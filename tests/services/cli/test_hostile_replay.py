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


def journal_of(path: Path, *records: tuple[str, dict[str, Any]], **header: Any) -> Path:
    """Write a journal whose lines are whole, whatever they say. A header of None is left out."""
    models = {"models": {"graph": "m", "tool": "m"}}
    with open_run_journal(path) as journal:
        journal.append(
            "run_begun", **{key: each for key, each in {**HEADER, **models, **header}.items() if each is not None}
        )
        journal.append("event", nth=0, what={"event": "GraphChanged", "iteration": 0, "state": "0" * 64})
        for kind, data in records:
            journal.append(kind, **data)
    return path


STEP = {"key": "k", "nth": 0}
ANSWER = {"text": "x", "prompt_tokens": 1, "completion_tokens": 1}


def replayed(run: Run, path: Path, *records: tuple[str, dict[str, Any]], **header: Any) -> tuple[int, str]:
    journal_of(path, *records, ("run_ended", {"answer": {}, "events": 1, "seconds": 1.0}), **header)
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
        {"about": 7},
        {"models": {}},
        {"models": {"graph": "m"}},
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
        ("call_begun", {**STEP, "key": ["k"]}),
        ("call_ended", {**STEP, "gave": {"body": 1}}),
        ("model_ended", {**STEP, "key": {"a": 1}, "gave": ANSWER}),
        ("model_ended", {**STEP, "gave": {**ANSWER, "prompt_tokens": "many"}}),
        ("graph_failed", STEP),
        ("graph_ended", {**STEP, "op": "query", "gave": {"rows": 7}}),
        ("sandbox_ended", {**STEP, "seconds": 1.0, "gave": 5}),
        ("find_ended", {**STEP, "gave": {"tools": 1}}),
    ],
    ids=str,
)
def test_a_hostile_record_is_an_error_with_a_name(run: Run, tmp_path: Path, record: tuple[str, dict[str, Any]]) -> None:
    code, err = replayed(run, tmp_path / "run.jsonl", record)
    assert code == 2 and "the record is damaged" in err, err
