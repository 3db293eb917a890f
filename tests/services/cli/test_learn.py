"""``egotools learn``: from reports over gRPC to a snapshot that answers better, and back with ``--forget``."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from egotools import Response
from inference import HashingEncoder
from retrieval.engine import open_engine
from retrieval.query.request import Request
from retrieval.snapshot.publish import published_id
from tests.eval.planted import written
from tests.eval.planted_sessions import TASKS, build_store, gold, rows, text
from tests.harness.commands import Run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_store(tmp_path_factory.mktemp("learn"))


@pytest.fixture
def store(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "store"))


def responses(store: Path, **others: Any) -> list[Response]:
    """The answers to a request of each task that no session has."""
    random = np.random.default_rng(99)
    retriever = open_engine(store, encoder=HashingEncoder()).retriever()
    return [retriever.retrieve(Request(query=text(task, random), k=5, **others)) for task in range(TASKS)]


def complete(answers: Sequence[Response]) -> float:
    found = [{tool.id for tool in answer.tools} for answer in answers]
    return float(np.mean([set(gold(task)) <= tools for task, tools in enumerate(found)]))


def ids(answers: Sequence[Response]) -> list[list[str]]:
    return [[tool.id for tool in answer.tools] for answer in answers]


def test_a_log_makes_a_better_snapshot_and_forget_the_old_one(store: Path, tmp_path: Path, run: Run) -> None:
    lines = [
        {"key": str(number), "used": row["tools"], **{name: row[name] for name in ("time", "reporter", "query")}}
        for number, row in enumerate(rows(400))
    ]
    log = written(tmp_path / "log.jsonl", *lines)
    before, first = responses(store), published_id(store)
    code, out, _ = run("learn", "--store", store, "--outcomes", log, "--json")
    report = json.loads(out)
    assert code == 0
    assert report["published_id"] == published_id(store) != first
    assert report["held_out"]["after"] > report["held_out"]["before"] + 0.3
    assert (store / "reports" / f"{first}.learning.json").exists()
    assert complete(responses(store)) > complete(before) + 0.5
    code, out, _ = run("learn", "--store", store, "--forget")
    assert (code, published_id(store)) == (0, first)
    assert ids(responses(store)) == ids(before)
    assert "no learned part" in run("learn", "--store", store, "--forget")[1]
