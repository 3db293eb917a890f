"""The report of a batch: categories counted by hand, cost by step, tool choice, and files that can be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ontology.errors import MissingExtraError
from planners.kgot.batch import batch_files
from planners.kgot.batch.batch_files import write_report
from planners.kgot.batch.batch_report import batch_report, category_of
from planners.kgot.batch.task_file import BatchTask
from planners.kgot.batch.task_result import ShownTool, TaskResult, task_result
from planners.kgot.kgot_task import KgotTask
from planners.runs.account import ModelUse, ToolUse
from planners.runs.run_journal import open_run_journal, read_run_journal

TASK = KgotTask(question="?")


def task(id_: str, expected: str = "8", level: int = 1) -> BatchTask:
    return BatchTask(id=id_, task=TASK, expected=expected, level=level)


def result(id_: str, answer: str, outcome: str = "solved") -> TaskResult:
    return TaskResult(
        id=id_,
        answer=answer,
        outcome=outcome,
        model=ModelUse(calls=2, prompt_tokens=100, completion_tokens=10, usd=0.5, seconds=1.0),
        by_step={"next_step": ModelUse(calls=1, prompt_tokens=60), "final_answer": ModelUse(calls=1, prompt_tokens=40)},
        by_tool={"a": ToolUse(calls=3, failed=1)},
        choice={"a": ShownTool(shown=2, called=1, ranks=2), "b": ShownTool(shown=2)},
        searches=2,
    )


@pytest.mark.parametrize(
    ("answer", "outcome", "expected", "category"),
    [
        ("8", "solved", "8", "correct"),
        ("8", "forced query", "8", "correct forced"),
        ("8", "forced answer", "8.0", "correct forced"),
        ("It is 8 or 9", "solved", "8", "close call"),
        ("It is 8 or 9", "forced answer", "8", "close call"),
        ("9", "forced query", "8", "wrong forced"),
        ("9", "solved", "8", "wrong"),
        ("", "no solution", "8", "other error"),
        ("", "failed", "8", "other error"),
        ("9", "solved", "", "not checked"),
    ],
)
def test_categories(answer: str, outcome: str, expected: str, category: str) -> None:
    assert category_of(task("t", expected), result("t", answer, outcome)) == category


def test_a_report_counts_every_task_and_sums_what_they_took() -> None:
    tasks = [task("t1"), task("t2", level=2), task("t3", level=2), task("t4")]
    report = batch_report(tasks, [result("t3", "9"), result("t1", "8"), result("t2", "", "no solution")])
    assert [row.category for row in report.rows] == ["correct", "other error", "wrong", "other error"]
    assert report.rows[3].result.error == "it was not run"
    assert report.counts(2) == {**dict.fromkeys(report.counts(), 0), "wrong": 1, "other error": 1}
    assert (report.total.calls, report.total.prompt_tokens, report.total.usd) == (6, 300, 1.5)
    assert report.by_step["next_step"].prompt_tokens == 180
    assert report.choice == {"a": ShownTool(shown=6, called=3, ranks=6), "b": ShownTool(shown=6)}
    assert report.tools_of_tasks() == {"a": (3, 1)}
    assert report.searches == 6


def test_tools_of_tasks_count_right_answers_that_were_forced() -> None:
    report = batch_report(
        [task("t1"), task("t2")], [result("t1", "8", "forced query"), result("t2", "9", "forced query")]
    )
    assert report.tools_of_tasks() == {"a": (2, 1)}


def test_the_files_of_a_report(tmp_path: Path) -> None:
    report = batch_report([task("t1"), task("t2", expected="x|y")], [result("t1", "8"), result("t2", "<b>\n|")])
    written = write_report(report, tmp_path)
    assert [path.name for path in written] == [
        "report.json",
        "categories.png",
        "tokens-by-step.png",
        "seconds-by-step.png",
        "tools.png",
        "report.md",
    ]
    found = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert found["categories"]["correct"] == 1 and found["rows"][1]["answer"] == "<b>\n|"
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| t2 | 1 | wrong | x\\|y | &lt;b> \\| |" in text
    assert "| next_step | 2 | 120 | 0 | 0.0000 | 0.0 |" in text
    assert "| a | 4 | 2 | 2.0 | 6 | 2 | 2 | 1 |" in text
    assert "1 of 2, 95 % interval 9% to 91%" in text
    pictures = {path: path.read_bytes() for path in written if path.suffix == ".png"}
    write_report(report, tmp_path)
    assert {path: path.read_bytes() for path in pictures} == pictures
    assert all(png.startswith(b"\x89PNG") for png in pictures.values())


def test_without_matplotlib_the_plots_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(report: object) -> dict[str, bytes]:
        raise MissingExtraError("pictures of a report", extra="eval")

    monkeypatch.setattr(batch_files, "batch_plots", missing)
    written = write_report(batch_report([task("t1")], []), tmp_path)
    assert [path.name for path in written] == ["report.json", "report.md"]
    assert "The plots are left out" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_the_choice_of_tools_is_read_from_the_journal(tmp_path: Path) -> None:
    def called(tool: str) -> dict[str, object]:
        return {"event": "CallMade", "iteration": 1, "call": {"tool_id": tool}}

    with open_run_journal(tmp_path / "run") as journal:
        for n, what in enumerate(
            [
                {"event": "ToolsFound", "tool_ids": ["a", "b", "c"]},
                called("b"),
                called("b"),
                called("d"),
                {"event": "ToolsFound", "tool_ids": ["b"]},
                called("b"),
            ]
        ):
            journal.append("event", key="event", nth=n, what=what)
        journal.append("run_stopped", outcome="budget", missing="all is spent", seconds=2.5)
    found = task_result("t", read_run_journal(tmp_path / "run"))
    assert found.choice["b"] == ShownTool(shown=2, called=2, ranks=3)
    assert found.choice["a"] == ShownTool(shown=1) and "d" not in found.choice
    assert (found.outcome, found.missing, found.seconds, found.searches) == ("budget", "all is spent", 2.5, 2)
