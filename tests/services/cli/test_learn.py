"""``egotools learn``: from a log of reports to a snapshot that answers better, and back with ``--forget``."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from inference import HashingEncoder
from retrieval.engine import open_engine
from retrieval.query.request import Request
from retrieval.snapshot.publish import published_id
from tests.eval.planted import written
from tests.eval.planted_sessions import TASKS, build_store, gold, sessions, text
from tests.harness.commands import Run

pytestmark = pytest.mark.slow


def answers(store: Path) -> list[list[str]]:
    """The answers to a request of each task that no session has."""
    random = np.random.default_rng(99)
    retriever = open_engine(store, encoder=HashingEncoder()).retriever()
    found = [retriever.retrieve(Request(query=text(task, random), k=5)) for task in range(TASKS)]
    return [[tool.id for tool in answer.tools] for answer in found]


def test_a_log_makes_a_better_snapshot_and_forget_the_old_one(tmp_path: Path, run: Run) -> None:
    store, endless = build_store(tmp_path), {"key": "z", "time": 2e9, "used": gold(0), "query": "order " * 9_999}
    log = written(tmp_path / "log.jsonl", *map(asdict, sessions(399, reporters=3)), endless)
    before, first = answers(store), published_id(store)
    code, out, _ = run("learn", "--store", store, "--outcomes", log, "--json")
    report = json.loads(out)
    assert (code, report["sessions"], report["reporters"], report["damaged_lines"]) == (0, 400, 4, 0)
    assert report["published_id"] == published_id(store) != first
    assert report["held_out"]["after"] > report["held_out"]["before"] + 0.3
    assert (store / "reports" / f"{first}.learning.json").exists()
    complete = [set(gold(task)) == set(tools) for task, tools in enumerate(answers(store))]
    assert np.mean(complete) > 0.8
    code, _, _ = run("learn", "--store", store, "--forget")
    assert (code, published_id(store), answers(store)) == (0, first, before)
    assert "no learned part" in run("learn", "--store", store, "--forget")[1]
    written(log, *map(asdict, sessions(400, reporters=1)))
    code, out, _ = run("learn", "--store", store, "--outcomes", log)
    assert code == 15 and "nothing is gained" in out and published_id(store) == first
    assert run("learn", "--store", store, "--outcomes", log, "--min-reporters", "1")[0] == 0
