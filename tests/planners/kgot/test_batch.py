"""Batches of tasks: their files, workers, journals; which answers are right; the report."""

import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from inference.chat import Completion
from ontology.errors import InvalidArgumentError, ModelError
from ontology.json_values import canonical_text
from planners.journal.run_journal import ModelUse, RunJournal, read_run_journal
from planners.kgot.batch import (
    BatchTask,
    TaskResult,
    answer_matches,
    batch_report,
    finished_before,
    journal_path,
    read_tasks,
    result_path,
    run_batch,
    solve_in_folder,
)
from planners.kgot.recorded_run import SolveParts
from tests.planners.kgot.warehouse_solve import WarehouseModel, parts


class Swift(WarehouseModel):
    """Knows the answer at once. Of a task of whose question it has the words, it is not there.

    :param away: those words.
    """

    def __init__(self, away: str = "\0") -> None:
        super().__init__()
        self._away = away

    def complete(self, messages: Sequence[Any], *, schema_name: str = "answer", **options: Any) -> Completion:
        if self._away in "".join(message.content for message in messages):
            raise ModelError("it is down", subject="model")
        return super().complete(messages, schema_name=schema_name, **options)

    def _answer(self, step: str, moved: bool, found: bool) -> dict[str, object]:
        return {"needed": False} if step == "maths_needed" else super()._answer(step, True, True)


class Opened:
    """Opens parts for each task but a failing one, and counts how many are open."""

    def __init__(self, model: WarehouseModel, failing: str = "") -> None:
        self._model, self._failing = model, failing
        self.opened: list[str] = []
        self.now = self.most = 0

    @contextlib.asynccontextmanager
    async def __call__(self, task: BatchTask, journal: RunJournal) -> AsyncIterator[SolveParts]:
        if task.id == self._failing:
            raise RuntimeError("a bug of somebody")
        self.opened.append(task.id)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            yield parts(self._model)
        finally:
            self.now -= 1


def tasks(count: int) -> list[BatchTask]:
    return [BatchTask(id=f"t{n}", question=f"What is {n}?", answer="8") for n in range(count)]


async def solved(folder: Path, count: int, opened: Opened, workers: int = 2) -> list[TaskResult]:
    return await run_batch(tasks(count), lambda task: solve_in_folder(task, folder, opened), workers=workers)


async def test_each_task_is_handed_out_once_and_finished_ones_are_not_run_again(tmp_path: Path) -> None:
    opened, again = Opened(Swift()), Opened(Swift())
    results = await solved(tmp_path, 7, opened, workers=3)
    assert [result.id for result in results] == [f"t{n}" for n in range(7)]
    assert sorted(opened.opened) == [f"t{n}" for n in range(7)] and opened.most == 3
    assert {(result.answer, result.outcome) for result in results} == {("8", "solved")}
    assert all(read_run_journal(journal_path(tmp_path, task.id)).end for task in tasks(7))
    kept = [result_path(tmp_path, each.id).read_text(encoding="utf-8") for each in results]
    assert kept == [canonical_text(asdict(each)) for each in results]
    assert (await solved(tmp_path, 8, again))[:7] == results and again.opened == ["t7"]


async def test_a_task_that_fails_stops_nothing_and_is_run_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    results = await solved(tmp_path, 4, Opened(Swift("What is 2?"), failing="t1"))
    assert [result.outcome for result in results] == ["solved", "failed", "model", "solved"]
    assert results[1].error == "RuntimeError: a bug of somebody" and "t1" in caplog.text
    assert finished_before(tasks(4), tmp_path) == 2
    again = Opened(Swift())
    results = await solved(tmp_path, 4, again)
    assert again.opened == ["t1", "t2"]  # the model of t2 was not there
    assert [result.outcome for result in results] == ["solved"] * 4 and finished_before(tasks(5), tmp_path) == 4


def test_files_of_tasks(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.csv").write_text("x\n1\n", encoding="utf-8")
    path = tmp_path / "tasks.jsonl"
    one = {"id": "one", "question": "What is 1?", "answer": 1, "level": 2, "in_order": True, "more": None}
    two = {"id": "two", "question": "Which?", "files": ["a.csv"]}
    path.write_text(f"{json.dumps(one)}\n{json.dumps(two)}\n\n", encoding="utf-8")
    assert read_tasks(path) == (
        BatchTask(id="one", question="What is 1?", answer="1", level=2, in_order=True),
        BatchTask(id="two", question="Which?", files=(tmp_path / "files" / "a.csv",)),
    )


BAD_TASKS = {
    "": "there is no task",
    "prose": "no JSON",
    "[" * 100_000: "no JSON",
    '{"id": "a"}': "question",
    '{"id": "../a", "question": "q"}': "id",
    '{"id": "a", "question": "q"}\n{"id": "a", "question": "r"}': "two tasks have the id a",
    **{
        json.dumps({"id": "a", "question": "q", "files": [name]}): problem
        for name, problem in {
            "gone.pdf": "is not there",
            "/etc/passwd": "not in the folder",
            "../outside.txt": "not in the folder",
            "files/../../outside.txt": "not in the folder",
            "link.txt": "not in the folder",
            "dir/outside.txt": "not in the folder",
            "a\0b": "is not there",
        }.items()
    },
}


@pytest.mark.parametrize("text", BAD_TASKS, ids=range(len(BAD_TASKS)))
def test_bad_files_of_tasks_say_what_is_wrong(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "tasks"
    (folder / "files").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("secret", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "dir").symlink_to(tmp_path)
    (folder / "tasks.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=BAD_TASKS[text]):
        read_tasks(folder / "tasks.jsonl")


RIGHT = """17=17|17.0=17|$1,250.50=1250.5|56=56 %|€12=12|-3=-3|Jane Doe.=jane doe|The Café=cafe|Saint-Émilion=saint emilion
Argo, Egret; Grebe=Egret, Argo, Grebe|Board, Export, Finance and Sales=Board, Export, Finance, Sales|3 Million=3 million
5105600123, 5105600144=5105600144; 5105600123|12=12 %|1.0, b=B, 1|2023-10-31=2023-10-31"""
WRONG = """18=17|17 or 18=17|=17|no answer=17|Jane=Jane Doe|Argo, Egret=Argo, Egret, Grebe|Argo, Argo=Argo, Egret|3 million=3
2023-10-30=2023-10-31|3=-3|3=3 million|12 dollars=12 euros|Argo, Egret, Grebe=Argo, Egret|2482=2481.09|2481.091=2481.09|nan=17"""


@pytest.mark.parametrize(("cases", "is_right"), [(RIGHT, True), (WRONG, False)], ids=["right", "wrong"])
def test_which_answers_are_right(cases: str, is_right: bool) -> None:
    pairs = [each.split("=") for line in cases.splitlines() for each in line.split("|")]
    assert [pair for pair in pairs if answer_matches(*pair) != is_right] == []


def result(id_: str, answer: str, outcome: str = "solved") -> TaskResult:
    return TaskResult(
        id=id_,
        answer=answer,
        outcome=outcome,
        model=ModelUse(calls=2, prompt_tokens=100, completion_tokens=10, usd=0.5, seconds=1.0),
    )


def test_a_report_counts_every_task_and_sums_what_they_took() -> None:
    levels = {"t1": 1, "t2": 2, "t3": 2, "t4": 1, "t5": 0}
    given = [BatchTask(id=id_, question="?", answer="8", level=level) for id_, level in levels.items()]
    results = [
        result("t3", "<9>\n|"),
        result("t1", "8"),
        result("t2", "", "no solution"),
        result("t5", "8.01", "forced query"),
    ]
    report = batch_report(given, results)
    found = [row["category"] for row in report["rows"]]
    assert found == ["correct", "other error", "wrong", "other error", "wrong forced"]
    assert report["rows"][3]["error"] == "it was not run"
    assert [report["total"][name] for name in ("calls", "prompt_tokens", "usd")] == [8, 400, 2.0]
