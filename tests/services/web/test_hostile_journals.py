"""Journals that say anything, each beside a sound one: a bad one is listed with its reason, and hurts no other."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import EgotoolsError, InvalidArgumentError
from planners.runs.run_journal import open_run_journal
from services.web.recorded_solves import list_solves, read_solve, read_state

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


def strict(value: Any) -> str:
    """As the page sends it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode().decode()


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "header",
    [
        {"question": 5},
        {"question": None},
        {"files": [1]},
        {"files": [["a"]]},
        {"settings": 7},
        {"settings": {"max_iterations": "x"}},
        {"settings": {"max_iterations": -1}},
        {"language": "sql"},
        {"models": [1]},
        {"fence_key": "zz"},
        {"fence_key": "0"},
        {"fence_key": None},
        {"about": 3},
        {"prices": {"graph": ["a", "b"]}},
    ],
    ids=str,
)
def test_a_hostile_header_is_named_and_hurts_no_other(tmp_path: Path, header: dict[str, Any]) -> None:
    journal_of(tmp_path / "sound.jsonl")
    journal_of(tmp_path / "bad.jsonl", **header)
    listed = {each["name"]: each for each in list_solves(tmp_path)}
    assert listed["sound.jsonl"]["question"] == "Which?" and "problem" not in listed["sound.jsonl"]
    assert (
        "the first record is damaged" in listed["bad.jsonl"]["problem"]
        or "is out of range" in listed["bad.jsonl"]["problem"]
    )
    with pytest.raises(InvalidArgumentError):
        read_solve(tmp_path, "bad.jsonl")
    with pytest.raises(InvalidArgumentError):
        read_state(tmp_path, "bad.jsonl", 0)


EVENT = {"event": "Missing", "iteration": 1}


@pytest.mark.parametrize(
    "record",
    [
        ("event", {"key": "event", "nth": [0], "what": EVENT}),
        ("event", {"key": "event", "nth": -1, "what": EVENT}),
        ("event", {"key": ["event"], "nth": 1, "what": EVENT}),
        ("event", {"key": "event", "nth": 1}),
        ("event", {"key": "event", "nth": 1, "what": 7}),
        ("event", {"key": "event", "nth": 1, "what": {}}),
        ("event", {"key": "event", "nth": 1, "what": EVENT, "state": 7}),
        ("event", {"key": "event", "nth": 1, "what": EVENT, "state": "../../etc/passwd"}),
        ("run_ended", {"answer": "0" * 64, "seconds": 1.0}),
        ("run_ended", {"answer": 7, "events": 1, "seconds": 1.0}),
        ("run_ended", {"answer": "0" * 64, "events": [1], "seconds": 1.0}),
    ],
    ids=str,
)
def test_a_hostile_record_is_named_and_hurts_no_other(tmp_path: Path, record: tuple[str, dict[str, Any]]) -> None:
    journal_of(tmp_path / "sound.jsonl")
    journal_of(tmp_path / "bad.jsonl", record)
    listed = {each["name"]: each for each in list_solves(tmp_path)}
    assert "problem" not in listed["sound.jsonl"]
    assert "the record is damaged" in listed["bad.jsonl"]["problem"]
    with pytest.raises(InvalidArgumentError, match="the record is damaged"):
        read_solve(tmp_path, "bad.jsonl")
    with pytest.raises(InvalidArgumentError, match="the record is damaged"):
        read_state(tmp_path, "bad.jsonl", 0)


def test_what_json_and_utf_8_cannot_say_is_shown_all_the_same(tmp_path: Path) -> None:
    what = {"event": "CallMade", "call": {"tool_id": "a", "body": {"x": math.nan, "y": 1e999, "\ud800": "\udfff"}}}
    properties = {"x": math.inf, "y": "a\ud800"}
    state = {"nodes": [{"id": "n1", "label": "A\ud800", "properties": properties}], "edges": []}
    journal_of(
        tmp_path / "odd.jsonl",
        ("event", {"key": "event", "nth": 1, "what": what}),
        ("event", {"key": "event", "nth": 2, "what": {"event": "Deep", "deep": deep(300)}}),
        state=state,
        question="Which \ud800?",
        files=[["a\udc80.csv", ""]],
    )
    journal_of(tmp_path / "sound.jsonl")
    runs = list_solves(tmp_path)
    strict(runs)
    assert not any("problem" in each for each in runs)
    assert len(read_solve(tmp_path, "odd.jsonl")["events"]) == 3
    strict(read_solve(tmp_path, "odd.jsonl"))
    assert len(read_state(tmp_path, "odd.jsonl", 0)["nodes"]) == 1
    strict(read_state(tmp_path, "odd.jsonl", 0))


@pytest.mark.parametrize("state", [7, [], {"nodes": 5, "edges": []}, {"nodes": [1], "edges": []}], ids=str)
def test_a_payload_that_is_no_graph_is_named(tmp_path: Path, state: Any) -> None:
    journal_of(tmp_path / "bad.jsonl", state=state)
    with pytest.raises(InvalidArgumentError, match="damaged"):
        read_state(tmp_path, "bad.jsonl", 0)


@pytest.mark.parametrize("content", [b"\xff\x00", b"[" * 100_000], ids=["binary", "deep"])
def test_a_payload_that_is_no_json_is_named(tmp_path: Path, content: bytes) -> None:
    digest = hashlib.sha256(content).hexdigest()
    what = {"event": "GraphChanged", "iteration": 1}
    path = journal_of(tmp_path / "bad.jsonl", ("event", {"key": "event", "nth": 1, "what": what, "state": digest}))
    (path.with_name("bad.jsonl.payloads") / digest).write_bytes(content)
    with pytest.raises(EgotoolsError, match="no JSON"):
        read_state(tmp_path, "bad.jsonl", 1)
