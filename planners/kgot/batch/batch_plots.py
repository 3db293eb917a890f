"""Plots of a batch of tasks: categories by level, cost by step, tools that were chosen; as the figures of the paper's appendix D.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ontology.pictures import COLOURS, axis_label, blank_figure, default_style, hide_frame, to_png
from planners.kgot.batch.batch_report import BatchReport

__all__ = ["batch_plots"]

_WIDTH = 8.0  # inches
_ROW = 0.32  # inches a bar
_MOST = 20  # bars of a plot: those with the most
_NAME = 40  # characters


def batch_plots(report: BatchReport) -> dict[str, bytes]:
    """Return the plots as PNG, by the names of their files.

    :raises MissingExtraError: when matplotlib is not installed.
    """
    with default_style():
        plots = {"categories.png": _categories(report)}
        if report.by_step:
            tokens = {name: use.prompt_tokens + use.completion_tokens for name, use in report.by_step.items()}
            plots["tokens-by-step.png"] = _bars(tokens, "tokens of models by step")
            plots["seconds-by-step.png"] = _bars(
                {name: use.seconds for name, use in report.by_step.items()}, "seconds of models by step"
            )
        if report.by_tool:
            plots["tools.png"] = _tools(report)
    return plots


def _categories(report: BatchReport) -> bytes:
    figure = blank_figure(_WIDTH, 3.2)
    axes = figure.add_subplot()
    bottoms = [0.0] * len(report.levels)
    labels = [f"level {level}" if level else "no level" for level in report.levels]
    names = [name for name in report.counts() if report.counts()[name]]
    for at, name in enumerate(names):
        counts = [report.counts(level)[name] for level in report.levels]
        axes.bar(labels, counts, bottom=bottoms, label=name, color=_colour(at))
        bottoms = [low + count for low, count in zip(bottoms, counts, strict=True)]
    axes.set_ylabel("tasks")
    hide_frame(axes)
    axes.legend(frameon=False)
    return to_png(figure, f"Answers of {len(report.rows)} tasks by level and category")


def _tools(report: BatchReport) -> bytes:
    used = sorted(report.tools_of_tasks().items(), key=lambda item: (-item[1][0], item[0]))[:_MOST]
    figure, axes, names = _frame([name for name, _ in used])
    right = [each[1] for _, each in used]
    wrong = [tasks - each for (_, (tasks, _right)), each in zip(used, right, strict=True)]
    axes.barh(names, right, color=_colour(4), label="answered right")
    axes.barh(names, wrong, left=right, color=_colour(1), label="not")
    axes.set_xlabel("tasks that called the tool")
    axes.legend(frameon=False)
    return to_png(figure, "Tasks by tool, and how many of them were answered right")


def _bars(values: Mapping[str, float], title: str) -> bytes:
    most = sorted(values.items(), key=lambda item: (-item[1], item[0]))[:_MOST]
    figure, axes, names = _frame([name for name, _ in most])
    axes.barh(names, [value for _, value in most], color=_colour(0))
    axes.set_xlabel(title)
    return to_png(figure, title)


def _frame(names: Sequence[str]) -> tuple[Any, Any, list[str]]:
    figure = blank_figure(_WIDTH, 1.0 + _ROW * len(names))
    axes = figure.add_subplot()
    hide_frame(axes)
    axes.invert_yaxis()
    return figure, axes, [axis_label(name, _NAME) for name in names]


def _colour(at: int) -> str:
    return COLOURS[at % len(COLOURS)]
