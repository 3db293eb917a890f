"""The answers of the shipped tasks are those of independent SQL, and their files are those of the generator."""

from __future__ import annotations

import json
import re
from pathlib import Path

from benchmarks.kgot_tasks.write_task_files import task_files
from services.company.mock_company import MockCompany
from services.company.shipped_documents import SHIPPED_CATALOG
from tests.conftest import ROOT
from tests.planners.kgot.task_truth import true_answers

_FOLDER = ROOT / "planners" / "kgot" / "tasks"
_TASKS = [json.loads(line) for line in (_FOLDER / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_answers_are_those_of_sql(tmp_path: Path) -> None:
    MockCompany(SHIPPED_CATALOG, tmp_path).close()
    assert {task["id"]: task["answer"] for task in _TASKS} == true_answers(tmp_path / "company.sqlite")
    assert all(task["answer"] for task in _TASKS)


def test_the_files_are_those_of_the_generator() -> None:
    made = task_files()
    assert {path.name: path.read_bytes() for path in (_FOLDER / "files").iterdir()} == made
    assert {name for task in _TASKS for name in task["files"]} == set(made)


def test_the_set_is_of_24_tasks_on_three_levels_in_two_halves() -> None:
    assert [task["id"] for task in _TASKS] == [f"task-{number:02}" for number in range(1, 25)]
    assert {task["level"] for task in _TASKS} == {1, 2, 3}
    assert [task["split"] for task in _TASKS] == ["dev", "test"] * 12
    assert all(re.fullmatch(r"[A-Z].*[.?]", task["question"]) for task in _TASKS)
