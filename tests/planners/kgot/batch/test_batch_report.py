"""The report of a batch: categories counted by hand, cost by step, tool choice, and files that can be read."""

from __future__ import annotations

import json
from pathlib import Path

from planners.journal.run_journal import ModelUse, ToolUse
from planners.kgot.batch.batch_files import write_report
from planners.kgot.batch.batch_report import batch_report
from planners.kgot.batch.task_file import BatchTask
from planners.kgot.batch.task_result import ShownTool, TaskResult
from planners.kgot.kgot_task import KgotTask

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
