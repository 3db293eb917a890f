"""``egotools datagen --unanswerable N --long N``: files of their own that eval and the studies of abstention read."""

from __future__ import annotations

import json
from pathlib import Path

from eval.queries import read_queries
from inference import HashingEncoder
from services.jobs.build import build_snapshot
from tests.harness.commands import Run
from tests.services.cli.test_datagen import CATALOG, GIVEN, published, results, rows


def test_unanswerable_requests_and_long_tasks_are_written_each_into_a_file(run: Run, tmp_path: Path) -> None:
    store, out = tmp_path / "store", tmp_path / "out"
    documents = [str(CATALOG / "projects.csv"), str(CATALOG / "support.jsonl")]
    build_snapshot(documents, store, encoder=HashingEncoder(), workers=1)
    asked = ("datagen", store, "--out", out, "--per-class", 8)
    code, said, err = run(*asked, "--unanswerable", 12, "--long", 2)
    assert code == 0, err
    none, tasks = rows(out / "unanswerable.jsonl"), read_queries([out / "long_tasks.jsonl"]).queries
    assert len(none) == 12 and "unanswerable.jsonl: 12 of 12" in said
    assert all((row["tools"], row["class"]) == ([], "none") and row["reason"] for row in none)
    assert {row["kind"] for row in none} == {"missing-action", "other-domain", "chit-chat"}
    assert "no request is of the kind" not in said
    known = {row["id"] for row in rows(out / "tools.jsonl")}
    assert 1 <= len(tasks) <= 2 and f"long_tasks.jsonl: {len(tasks)} of 2" in said
    for task in tasks:
        assert 5 <= len(task.slots) <= 12 and set(task.tools) <= known
        assert {tool.partition("/")[0] for tool in task.tools} == {"projects", "support"}
    first = results(out)
    assert run(*asked, "--unanswerable", 12, "--long", 2)[0] == 0
    assert results(out) == first
    assert run(*asked)[0] == 0
    assert first.keys() - results(out).keys() == {"unanswerable.jsonl", "long_tasks.jsonl"}


def test_too_few_parts_for_a_long_task_are_told(run: Run, tmp_path: Path) -> None:
    store = published(tmp_path, GIVEN[:2])
    code, said, _ = run("datagen", store, "--out", tmp_path / "out", "--per-class", 2, "--long", 3, "--json")
    assert code == 0
    further = json.loads(said)["further"]
    assert further["made"] == {"long_tasks.jsonl": 0} and further["wanted"] == {"long_tasks.jsonl": 3}
    assert "can be parts of a task" in further["reasons"]["long_tasks.jsonl"][0]
    assert rows(tmp_path / "out" / "long_tasks.jsonl") == []
