"""The report of a batch of tasks: how many answers are right, what each step cost, which tools were chosen (appendix D of the paper).

The categories are those of the paper's figure 15, which it does not define. Here: *correct* and *wrong* are answers that a query of the
graph gave; *forced* ones were given at the limit of steps; a *close call* is no right answer, but near it; *other error* is no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from planners.journal.run_journal import ModelUse, ToolUse
from planners.kgot.batch.answer_match import answer_is_close, answer_matches
from planners.kgot.batch.task_file import BatchTask
from planners.kgot.batch.task_result import ShownTool, TaskResult

__all__ = ["CATEGORIES", "BatchReport", "Category", "ReportRow", "batch_report", "category_of"]

Category: TypeAlias = Literal[
    "correct", "correct forced", "close call", "wrong forced", "wrong", "other error", "not checked"
]
CATEGORIES: tuple[Category, ...] = get_args(Category)
"""In the order of reports; ``not checked`` is an answer of a task whose right answer is not known."""
_FORCED = ("forced query", "forced answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """One task."""

    id: str
    level: int
    category: Category
    expected: str
    result: TaskResult


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """A batch.

    :param by_step: what the calls of models took, by the name of the step.
    :param by_tool: calls of tools.
    :param choice: how often each tool was among those of a search, and was called after it.
    """

    rows: tuple[ReportRow, ...]
    total: ModelUse
    by_step: Mapping[str, ModelUse] = field(default_factory=dict)
    by_tool: Mapping[str, ToolUse] = field(default_factory=dict)
    choice: Mapping[str, ShownTool] = field(default_factory=dict)
    searches: int = 0

    def counts(self, level: int | None = None) -> dict[Category, int]:
        """Return how many tasks are of each category.

        :param level: None: of all levels.
        """
        rows = [row.category for row in self.rows if level is None or row.level == level]
        return {name: rows.count(name) for name in CATEGORIES}

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels that there are."""
        return tuple(sorted({row.level for row in self.rows}))

    def tools_of_tasks(self) -> dict[str, tuple[int, int]]:
        """Return, of each tool, how many tasks called it, and how many of these were answered right."""
        found: dict[str, tuple[int, int]] = {}
        for row in self.rows:
            for tool in row.result.by_tool:
                used, right = found.get(tool, (0, 0))
                found[tool] = (used + 1, right + row.category.startswith("correct"))
        return dict(sorted(found.items()))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "tasks": len(self.rows),
            "categories": self.counts(),
            "by_level": {str(level): self.counts(level) for level in self.levels},
            "total": asdict(self.total),
            "by_step": {name: asdict(use) for name, use in self.by_step.items()},
            "by_tool": {name: asdict(use) for name, use in self.by_tool.items()},
            "searches": self.searches,
            "choice": {name: asdict(shown) for name, shown in self.choice.items()},
            "tools_of_tasks": {
                name: {"tasks": n, "correct": right} for name, (n, right) in self.tools_of_tasks().items()
            },
            "rows": [
                {
                    "id": row.id,
                    "level": row.level,
                    "category": row.category,
                    "expected": row.expected,
                    "answer": row.result.answer,
                    "outcome": row.result.outcome,
                    "missing": row.result.missing,
                    "error": row.result.error,
                    "seconds": row.result.seconds,
                    "model": asdict(row.result.model),
                }
                for row in self.rows
            ],
        }


def category_of(task: BatchTask, result: TaskResult) -> Category:
    """Return the category of a result."""
    if not result.answer:
        return "other error"
    if not task.expected:
        return "not checked"
    forced = result.outcome in _FORCED
    if answer_matches(result.answer, task.expected, in_order=task.in_order, question=task.task.question):
        return "correct forced" if forced else "correct"
    if answer_is_close(result.answer, task.expected):
        return "close call"
    return "wrong forced" if forced else "wrong"


def batch_report(tasks: Sequence[BatchTask], results: Sequence[TaskResult]) -> BatchReport:
    """Return the report of results, in the order of their tasks. A task without a result counts as an error."""
    known = {result.id: result for result in results}
    given = [known.get(task.id, TaskResult(id=task.id, error="it was not run")) for task in tasks]
    return BatchReport(
        rows=tuple(
            ReportRow(
                id=task.id,
                level=task.level,
                category=category_of(task, result),
                expected=task.expected,
                result=result,
            )
            for task, result in zip(tasks, given, strict=True)
        ),
        total=_sum(ModelUse, (result.model for result in given)),
        by_step=_sums(ModelUse, (result.by_step for result in given)),
        by_tool=_sums(ToolUse, (result.by_tool for result in given)),
        choice=_sums(ShownTool, (result.choice for result in given)),
        searches=sum(result.searches for result in given),
    )


def _sum(kind: type[Any], uses: Iterable[Any]) -> Any:
    """Return one use with the sums of all numbers."""
    totals: dict[str, float] = {}
    for use in uses:
        for name, value in asdict(use).items():
            totals[name] = totals.get(name, 0) + value
    return kind(**totals)


def _sums(kind: type[Any], parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums by name."""
    named: dict[str, list[Any]] = {}
    for part in parts:
        for name, use in part.items():
            named.setdefault(name, []).append(use)
    return {name: _sum(kind, uses) for name, uses in sorted(named.items())}
