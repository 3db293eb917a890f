"""The pictures of a report: the paper's Figures 3 and 5."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.report.tables import PAPER_CUTOFFS, complete_measures
from eval.summary import Scope, Summary
from ontology.errors import MissingExtraError
from ontology.reporting import COLOURS, axis_label, blank_figure, default_style, hide_frame, to_png

_WIDTH, _BAR, _MARGIN = 9.0, 0.16, 1.1  # inches: of the picture, of a bar, for title, axis and caption
_PANELS = 3  # a row
_MAX_NAME = 34  # characters of a name on an axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture, the name of its file, and what it shows in a few words."""

    name: str
    title: str
    png: bytes


def missing_plots() -> tuple[str, ...]:
    """Empty where pictures can be drawn; else a warning for the report."""
    if importlib.util.find_spec("matplotlib") is not None:
        return ()
    return (f"The plots are left out: {MissingExtraError('matplotlib', extra='eval')}",)


def averages_picture(summary: Summary, scope: Scope, *, name: str) -> Picture:
    """The paper's Figure 3: CompleteRecall at 3, 5 and 10 by system, micro-average of a set or mean over the sets."""
    title = f"CompleteRecall@k, {f'micro-averages, {scope[1]}' if scope[1] else f'mean over {len(summary.sets)} sets'}"
    with default_style():
        figure = blank_figure(_WIDTH, _MARGIN + _BAR * (len(PAPER_CUTOFFS) + 1) * len(summary.systems))
        axes = figure.add_subplot()
        _bars(axes, summary, scope, complete_measures(PAPER_CUTOFFS))
        figure.legend(loc="outside lower center", ncols=len(PAPER_CUTOFFS), frameon=False)
        axes.set_title(f"CompleteRecall@k, {axis_label(scope[1] or 'mean over the sets', _MAX_NAME)}")
    return Picture(name=name, title=title, png=to_png(figure, title))


def by_group_picture(summary: Summary, scopes: Mapping[str, Scope], by: str, *, name: str) -> Picture:
    """The paper's Figure 5: CompleteRecall@10 by class of a set, or by set, a panel each.

    :param scopes: title of a panel → its requests.
    :param by: what the panels are, in words.
    """
    measure = "CompleteRecall@10"
    columns = min(_PANELS, len(scopes))
    rows = -(-len(scopes) // columns)
    with default_style():
        figure = blank_figure(_WIDTH, rows * (0.7 + _BAR * 1.6 * len(summary.systems)) + 0.4)
        panels = list(figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat)
        for axes, (heading, scope) in zip(panels, scopes.items(), strict=False):
            _bars(axes, summary, scope, [measure])
            axes.set_title(axis_label(heading, _MAX_NAME), fontsize=9)
        for axes in panels[len(scopes) :]:
            axes.set_visible(False)
        figure.suptitle(f"{measure} by {by}", fontsize=11)
    return Picture(name=name, title=f"{measure} by {by}", png=to_png(figure, f"{measure} by {by}"))


def _bars(axes: Any, summary: Summary, scope: Scope, measures: Sequence[str]) -> None:
    """A bar for every system and measure; what was not measured has none."""
    thickness = 0.8 / len(measures)
    for place, measure in enumerate(measures):
        found = [(row, summary.figure(scope, system, measure)) for row, system in enumerate(summary.systems)]
        measured = [(row, figure) for row, figure in found if figure is not None]
        axes.barh(
            [row + (place - (len(measures) - 1) / 2) * thickness for row, _ in measured],
            [100 * figure.value for _, figure in measured],
            height=0.92 * thickness,
            xerr=[
                [max(100 * (figure.value - figure.low), 0.0) for _, figure in measured],
                [max(100 * (figure.high - figure.value), 0.0) for _, figure in measured],
            ],
            color=COLOURS[place % len(COLOURS)] if len(measures) > 1 else COLOURS[2],
            ecolor="#333333",
            error_kw={"elinewidth": 0.8, "capsize": 1.5},
            label=measure.replace("CompleteRecall", ""),
        )
    names = [axis_label(system, _MAX_NAME) for system in summary.systems]
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    axes.set_xlabel("%", fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", linewidth=0.4, alpha=0.6)
    hide_frame(axes)
