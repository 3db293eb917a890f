"""The files of the report of a batch: JSON for programs, Markdown for people, plots where they can be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ontology.errors import MissingExtraError
from ontology.files import write_file
from ontology.json_object import canonical_text
from ontology.proportion import Proportion
from planners.kgot.batch.batch_plots import batch_plots
from planners.kgot.batch.batch_report import CATEGORIES, BatchReport
from planners.kgot.batch.task_result import ShownTool

__all__ = ["write_report"]

_CHARS = 300  # of a cell: a reason is cut, its last sentence, which says what to do, is kept


def write_report(report: BatchReport, folder: Path) -> tuple[Path, ...]:
    """Write ``report.json``, ``report.md`` and, with the extra ``eval``, the plots beside them.

    :raises StorageError: when they cannot be written.
    """
    written = [write_file(folder / "report.json", canonical_text(report.to_json()) + "\n")]
    plots: Mapping[str, bytes] = {}
    note = ""
    try:
        plots = batch_plots(report)
    except MissingExtraError as error:
        note = f"The plots are left out: {error}\n"
    written += [write_file(folder / name, png) for name, png in plots.items()]
    text = _markdown(report) + "".join(f"\n![{name}]({name})\n" for name in plots) + (f"\n{note}" if note else "")
    return (*written, write_file(folder / "report.md", text))


def _markdown(report: BatchReport) -> str:
    counts = report.counts()
    right = counts["correct"] + counts["correct forced"]
    share = Proportion(right, len(report.rows))
    levels = [[str(level or "–"), *(str(report.counts(level)[name]) for name in CATEGORIES)] for level in report.levels]
    steps = [
        [
            name,
            f"{use.calls:,}",
            f"{use.prompt_tokens:,}",
            f"{use.completion_tokens:,}",
            f"{use.usd:.4f}",
            f"{use.seconds:.1f}",
        ]
        for name, use in {**report.by_step, "all": report.total}.items()
    ]
    used = report.tools_of_tasks()
    tools = [
        [name, *_shown(report.choice.get(name)), f"{use.calls:,}", f"{use.failed:,}", *map(str, used[name])]
        for name, use in report.by_tool.items()
    ]
    rows = [
        [
            row.id,
            str(row.level or "–"),
            row.category,
            row.expected,
            row.result.answer or row.result.missing or row.result.error,
        ]
        for row in report.rows
    ]
    return "\n".join(
        [
            f"# {len(report.rows)} tasks: {right} right\n",
            f"Right: {right} of {len(report.rows)}, 95 % interval {share.low or 0:.0%} to {share.high or 0:.0%}. Money is by the prices that were given.\n",
            *_table(["level", *CATEGORIES], [*levels, ["all", *(str(counts[name]) for name in CATEGORIES)]]),
            "\n## Cost by step\n",
            *_table(["step", "calls", "prompt tokens", "completion tokens", "USD", "seconds"], steps),
            f"\n## Tools\n\n{report.searches} searches. A tool's rank is its mean rank in the searches after which it was called.\n",
            *_table(["tool", "shown", "chosen", "rank", "calls", "failed", "tasks", "of them right"], tools),
            "\n## Tasks\n",
            *_table(["task", "level", "category", "expected", "answer"], rows),
            "",
        ]
    )


def _shown(shown: ShownTool | None) -> tuple[str, str, str]:
    if shown is None:
        return "0", "0", "–"
    return str(shown.shown), str(shown.called), f"{shown.ranks / shown.called:.1f}" if shown.called else "–"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(_cell(text) for text in line) + " |" for line in lines]


def _cell(text: str) -> str:
    one = " ".join(text.split())
    if len(one) > _CHARS:
        reason, _, remedy = one.rpartition(". ")
        left = _CHARS - len(remedy) - 2
        one = f"{reason[:left]}… {remedy}" if reason and left > 0 else f"{one[:_CHARS]}…"
    return one.replace("|", "\\|").replace("<", "&lt;")
