"""The pictures of a report: the paper's Figures 3 and 5."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eval.report.tables import PAPER_CUTOFFS, Figures, Scope, chosen
from eval.summary import Summary
from ontology.errors import MissingExtraError
from ontology.reporting import COLOURS, axis_label, blank_figure, default_style, hide_frame, to_png

__all__ = ["Picture", "averages_picture", "by_group_picture", "missing_plots"]

_WIDTH = 9.0  # inches
_BAR = 0.16  # inches a bar
_MARGIN = 1.1  # inches for title, axis and caption
_PANELS = 3  # a row
_MAX_NAME = 34  # characters of a name on an axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture.

    :param name: of its file, ``figure3.png``.
    :param title: what it shows in a few words; the caption says of which snapshot, systems and configurations too.
    """

    name: str
    title: str
    caption: str
    png: bytes


def missing_plots() -> tuple[str, ...]:
    """Empty where pictures can be drawn; else a warning for the report."""
    if importlib.util.find_spec("matplotlib") is not None:
        return ()
    return (f"The plots are left out: {MissingExtraError('matplotlib', extra='eval')}",)


def averages_picture(summary: Summary, set_name: str = "", *, systems: Sequence[str] = (), name: str) -> Picture:
    """The paper's Figure 3: CompleteRecall at 3, 5 and 10 by system, micro-average of a set or mean over the sets."""
    figure = averages_figure(summary, set_name, systems=systems)
    figures = Figures(summary)
    group, names = figures.requests(set_name), chosen(summary, systems)
    what = f"mean over {len(group.sets)} sets" if not set_name else f"micro-averages, {set_name}"
    title = f"CompleteRecall@k, {what}"
    caption = f"{title}, with 95 % intervals. {figures.identity(group.sets, names)}"
    return Picture(name=name, title=title, caption=caption, png=to_png(figure, caption))


def averages_figure(summary: Summary, set_name: str = "", *, systems: Sequence[str] = ()) -> Any:
    """The matplotlib figure behind :func:`averages_picture`."""
    figures, names = Figures(summary), chosen(summary, systems)
    group = figures.requests(set_name)
    with default_style():
        figure = blank_figure(_WIDTH, _MARGIN + _BAR * (len(PAPER_CUTOFFS) + 1) * len(names))
        axes = figure.add_subplot()
        measures = [f"CompleteRecall@{cutoff}" for cutoff in PAPER_CUTOFFS]
        _bars(axes, figures, group, names, measures)
        figure.legend(loc="outside lower center", ncols=len(measures), frameon=False)
        axes.set_title(f"CompleteRecall@k, {group.name}")
    return figure


def by_group_picture(
    summary: Summary, set_name: str = "", *, measure: str = "CompleteRecall@10", systems: Sequence[str] = (), name: str
) -> Picture:
    """The paper's Figure 5: one measure by class of a set, or by set, a panel each."""
    figure = by_group_figure(summary, set_name, measure=measure, systems=systems)
    figures, names = Figures(summary), chosen(summary, systems)
    sets = figures.requests(set_name).sets
    by = f"class of request, {set_name}" if set_name else "set"
    title = f"{measure} by {by}"
    caption = f"{title}, with 95 % intervals. {figures.identity(sets, names)}"
    return Picture(name=name, title=title, caption=caption, png=to_png(figure, caption))


def by_group_figure(
    summary: Summary, set_name: str = "", *, measure: str = "CompleteRecall@10", systems: Sequence[str] = ()
) -> Any:
    """The matplotlib figure behind :func:`by_group_picture`."""
    figures, names = Figures(summary), chosen(summary, systems)
    groups = figures.classes(set_name) if set_name else [figures.requests(one) for one in summary.sets]
    columns = min(_PANELS, len(groups))
    rows = -(-len(groups) // columns)
    with default_style():
        figure = blank_figure(_WIDTH, rows * (0.7 + _BAR * 1.6 * len(names)) + 0.4)
        panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        for place, axes in enumerate(panels.flat):
            if place >= len(groups):
                axes.set_visible(False)
                continue
            _bars(axes, figures, groups[place], names, [measure])
            axes.set_title(axis_label(groups[place].name, _MAX_NAME), fontsize=9)
        figure.suptitle(f"{measure} by {'class of request' if set_name else 'set'}", fontsize=11)
    return figure


def _bars(axes: Any, figures: Figures, group: Scope, systems: Sequence[str], measures: Sequence[str]) -> None:
    """A bar for every system and measure; what was not measured has none."""
    thickness = 0.8 / len(measures)
    for place, measure in enumerate(measures):
        found = [(row, figures.get(group, system, measure)) for row, system in enumerate(systems)]
        measured = [(row, figure) for row, figure in found if figure is not None]
        values = [100 * figure.value for _, figure in measured]
        whiskers = [
            [max(100 * (figure.value - figure.low), 0.0) for _, figure in measured],
            [max(100 * (figure.high - figure.value), 0.0) for _, figure in measured],
        ]
        axes.barh(
            [row + (place - (len(measures) - 1) / 2) * thickness for row, _ in measured],
            values,
            height=0.92 * thickness,
            xerr=whiskers,
            color=COLOURS[place % len(COLOURS)] if len(measures) > 1 else COLOURS[2],
            ecolor="#333333",
            error_kw={"elinewidth": 0.8, "capsize": 1.5},
            label=measure.replace("CompleteRecall", ""),
        )
    axes.set_yticks(range(len(systems)), [axis_label(system, _MAX_NAME) for system in systems], fontsize=8)
    axes.set_ylim(len(systems) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    axes.set_xlabel("%", fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", linewidth=0.4, alpha=0.6)
    hide_frame(axes)
