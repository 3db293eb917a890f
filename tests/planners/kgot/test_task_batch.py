"""Batches: tasks are handed out one by one, a failed one stops nothing, finished ones are not run again; files of tasks."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from inference.chat import Completion
from ontology.errors import InvalidArgumentError, ModelError
from ontology.json_object import canonical_text
from planners.calls.sandbox import Sandbox, SandboxResult
from planners.journal.run_journal import RunJournal, read_run_journal
from planners.kgot.batch import (
    BatchTask,
    TaskResult,
    finished_before,
    journal_path,
    read_tasks,
    result_path,
    run_batch,
    solve_in_folder,
)
from planners.kgot.recorded_run import SolveParts, run_is_ended
from tests.planners.kgot.warehouse_solve import WarehouseModel, parts


class Swift(WarehouseModel):
    """Knows the answer at once, after a while: three questions one after the other."""

    def __init__(self, latency_s: float = 0.0) -> None:
        super().__init__()
        self._latency_s = latency_s

    def complete(self, messages: Sequence[Any], *, schema_name: str = "answer", **options: Any) -> Completion:
        time.sleep(self._latency_s)
        return super().complete(messages, schema_name=schema_name, **options)

    def _answer(self, step: str, moved: bool, found: bool) -> dict[str, object]:
        return {"needed": False} if step == "maths_needed" else super()._answer(step, True, True)


class NoSandbox(Sandbox):
    async def run(self, code: str, *, stdin: bytes = b"", files: Mapping[str, Path] | None = None) -> SandboxResult:
        raise AssertionError("nothing is to be run")


def tasks(count: int) -> list[BatchTask]:
    return [BatchTask(id=f"t{n}", question=f"What is {n}?", answer="8") for n in range(count)]


class Opened:
    """Opens parts for each task, and counts how many are open."""

    def __init__(self, model: WarehouseModel) -> None:
        self.model = model
        self.opened: list[str] = []
        self.now = self.most = 0

    @contextlib.asynccontextmanager
    async def __call__(self, task: BatchTask, journal: RunJournal) -> AsyncIterator[SolveParts]:
        self.opened.append(task.id)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            yield replace(parts(self.model), sandbox=NoSandbox())
        finally:
            self.now -= 1


async def solved(folder: Path, given: Sequence[BatchTask], opened: Opened, workers: int) -> list[TaskResult]:
    return await run_batch(given, lambda task: solve_in_folder(task, folder, opened), workers=workers)


def are_kept(results: Sequence[TaskResult], folder: Path) -> bool:
    kept = [result_path(folder, each.id).read_text(encoding="utf-8") for each in results]
    return kept == [canonical_text(asdict(each)) for each in results]


async def test_each_task_is_handed_out_once_and_results_keep_their_order(tmp_path: Path) -> None:
    opened = Opened(Swift())
    results = await solved(tmp_path, tasks(7), opened, workers=3)
    assert [result.id for result in results] == [f"t{n}" for n in range(7)]
    assert sorted(opened.opened) == [f"t{n}" for n in range(7)] and opened.most == 3
    assert {(result.answer, result.outcome) for result in results} == {("8", "solved")}
    assert results[0].by_step.keys() == {"next_step", "maths_needed", "final_answer"}
    assert all(run_is_ended(read_run_journal(journal_path(tmp_path, task.id))) for task in tasks(7))
    assert are_kept(results, tmp_path)


async def test_finished_tasks_are_not_run_again(tmp_path: Path) -> None:
    first = await solved(tmp_path, tasks(3), Opened(Swift()), workers=1)
    again = Opened(Swift())
    assert (await solved(tmp_path, tasks(4), again, workers=2))[:3] == first
    assert again.opened == ["t3"]


class Down(Swift):
    """Is not there for one of the tasks."""

    def complete(self, messages: Sequence[Any], **options: Any) -> Completion:
        if "What is 2?" in "".join(message.content for message in messages):
            raise ModelError("it is down", subject="model")
        return super().complete(messages, **options)


class OpenedBadly(Opened):
    """Has nothing to solve one of the tasks with."""

    @contextlib.asynccontextmanager
    async def __call__(self, task: BatchTask, journal: RunJournal) -> AsyncIterator[SolveParts]:
        if task.id == "t1":
            raise RuntimeError("a bug of somebody")
        async with super().__call__(task, journal) as opened:
            yield opened


async def test_a_task_that_fails_stops_nothing_and_is_run_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    results = await solved(tmp_path, tasks(4), OpenedBadly(Down()), workers=2)
    assert [result.outcome for result in results] == ["solved", "failed", "model", "solved"]
    assert results[1].error == "RuntimeError: a bug of somebody" and "t1" in caplog.text
    assert finished_before(tasks(4), tmp_path) == 2
    again = Opened(Swift())
    results = await solved(tmp_path, tasks(4), again, workers=2)
    assert again.opened == ["t1", "t2"]  # the model of t2 was not there
    assert [result.outcome for result in results] == ["solved"] * 4
    assert finished_before(tasks(5), tmp_path) == 4


async def test_a_damaged_journal_is_one_failed_task(tmp_path: Path) -> None:
    journal_path(tmp_path, "t0").parent.mkdir()
    journal_path(tmp_path, "t0").write_text("my notes\n", encoding="utf-8")
    results = await solved(tmp_path, tasks(2), Opened(Swift()), workers=1)
    assert [result.outcome for result in results] == ["failed", "solved"]
    assert "no line of a journal" in results[0].error


def test_files_of_tasks(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.csv").write_text("x\n1\n", encoding="utf-8")
    rows: list[dict[str, Any]] = [
        {"id": "one", "question": "What is 1?", "answer": 1, "level": 2, "in_order": True, "more": None},
        {"id": "two", "question": "Which?", "files": ["a.csv"]},
    ]
    path = tmp_path / "tasks.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    one, two = read_tasks(path)
    assert one == BatchTask(id="one", question="What is 1?", answer="1", level=2, in_order=True)
    assert two.task.files == (tmp_path / "files" / "a.csv",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "there is no task"),
        ("prose", "no JSON"),
        ('{"id": "a"}', "question"),
        ('{"id": "../a", "question": "q"}', "id"),
        ('{"id": "a", "question": "q", "files": ["gone.pdf"]}', "is not there"),
        ('{"id": "a", "question": "q"}\n{"id": "a", "question": "r"}', "two tasks have the id a"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_bad_files_of_tasks_say_what_is_wrong(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=problem):
        read_tasks(path)


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../outside.txt", "files/../../outside.txt", "link.txt", "dir/outside.txt"]
)
def test_files_outside_of_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "tasks"
    (folder / "files").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("secret", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "dir").symlink_to(tmp_path)
    path = folder / "tasks.jsonl"
    path.write_text(json.dumps({"id": "a", "question": "q", "files": [name]}), encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match="not in the folder"):
        read_tasks(path)
