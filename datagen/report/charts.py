"""The charts of a run as PNG; equal figures give equal bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from datagen.measures import Histogram
from datagen.report.figures import RunFigures
from ontology.pictures import COLOURS, axis_label, blank_figure, default_style, hide_frame, to_png

__all__ = ["CHARTS", "Chart", "draw_charts"]

_PLAIN = COLOURS[2]
_WIDTH = 8.0  # inches
_BAR = 0.34  # inches a bar
_MARGIN = 1.1  # inches for title and axis
_HISTOGRAM = 3.0  # inches high
_FONT = 8
_MAX_NAME = 60  # characters of a name on an axis
_MAX_REASONS = 14


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of the report.

    :param draw: returns the matplotlib figure with this title; None where there is nothing to show.
    """

    title: str
    draw: Callable[[RunFigures, str], Any]


def draw_charts(figures: RunFigures) -> dict[str, bytes]:
    """Return a map from file name to the PNG of each chart with data.

    :raises MissingExtraError: when matplotlib is not installed.
    """
    pictures = {}
    with default_style():
        for name, chart in CHARTS.items():
            figure = chart.draw(figures, chart.title)
            if figure is not None:
                source = f"Snapshot {figures.snapshot_id}, seed {figures.seed}."
                pictures[name] = to_png(figure, f"{chart.title}. {source}")
    return pictures


def _classes(figures: RunFigures, title: str) -> Any:
    made = [each.made for each in figures.classes.values()]
    total = max(sum(made), 1)
    figure, axes = _bars(title, list(figures.classes), [100 * count / total for count in made])
    for row, count in enumerate(made):
        axes.annotate(f" {count:,}", (100 * count / total, row), va="center", fontsize=_FONT)
    axes.set_xlabel("% of the requests", fontsize=_FONT)
    axes.margins(x=0.1)
    return figure


def _sizes(figures: RunFigures, title: str) -> Any:
    return _stacked(title, figures.gold_set_sizes, "{} tools")


def _shapes(figures: RunFigures, title: str) -> Any:
    return _stacked(title, figures.shapes, "{}")


def _nearest(figures: RunFigures, title: str) -> Any:
    diversity = figures.diversity
    if diversity.texts < 2:
        return None
    what = f"cosine of a request to the one closest to it ({diversity.encoder})"
    figure, _ = _histogram(title, diversity.histogram, what, "requests")
    return figure


def _similarity(figures: RunFigures, title: str) -> Any:
    graph = figures.graph
    if not sum(graph.pp_distribution.counts):
        return None
    what = "cosine of the inputs of two tools of one block"
    figure, axes = _histogram(title, graph.pp_distribution, what, "pairs of tools")
    axes.axvline(graph.pp_threshold, color=COLOURS[1], linewidth=1.5)
    label = f" {graph.pp_threshold:.3f}"
    axes.annotate(label, (graph.pp_threshold, axes.get_ylim()[1]), va="top", fontsize=_FONT)
    return figure


def _rejected(figures: RunFigures, title: str) -> Any:
    reasons = {f"{stage}: {text}": count for stage, found in figures.rejected.items() for text, count in found.items()}
    if not reasons:
        return None
    shown = sorted(reasons, key=lambda reason: (-reasons[reason], reason))[:_MAX_REASONS]
    figure, axes = _bars(title, shown, [reasons[reason] for reason in shown])
    axes.set_xlabel("rejections", fontsize=_FONT)
    return figure


CHARTS: Mapping[str, Chart] = {
    "classes.png": Chart("Requests by class", _classes),
    "gold_sets.png": Chart("Tools a request, by class", _sizes),
    "shapes.png": Chart("Shapes of the tool paths, by class", _shapes),
    "nearest.png": Chart("How close the closest requests are", _nearest),
    "similarity.png": Chart("Similarity of inputs, and the threshold of the P-P graph", _similarity),
    "rejected.png": Chart("Rejections by stage and reason", _rejected),
}
"""Map from file name to chart."""


def _bars(title: str, names: Sequence[str], values: Sequence[float]) -> tuple[Any, Any]:
    figure, axes = _blank(title, _MARGIN + _BAR * max(len(names), 1))
    axes.barh(range(len(names)), values, height=0.72, color=_PLAIN)
    _name_rows(axes, names)
    return figure, axes


def _stacked(title: str, counts: Mapping[str, Mapping[str, int]], label: str) -> Any:
    """Draw a bar of 100 % for each class, divided by category."""
    if not counts:
        return None
    figure, axes = _blank(title, _MARGIN + 0.3 + _BAR * len(counts))
    parts = sorted({part for found in counts.values() for part in found})
    start = [0.0] * len(counts)
    for number, part in enumerate(parts):
        shares = [100 * found.get(part, 0) / sum(found.values()) for found in counts.values()]
        name = label.format(part) if part != "1" else label.format(part).removesuffix("s")
        colour = COLOURS[number % len(COLOURS)]
        axes.barh(range(len(counts)), shares, left=start, height=0.72, color=colour, label=name)
        start = [left + share for left, share in zip(start, shares, strict=True)]
    _name_rows(axes, list(counts))
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the requests of the class", fontsize=_FONT)
    figure.legend(loc="outside lower center", ncols=len(parts), frameon=False, fontsize=_FONT)
    return figure


def _histogram(title: str, histogram: Histogram, x_label: str, y_label: str) -> tuple[Any, Any]:
    figure, axes = _blank(title, _HISTOGRAM)
    widths = [right - left for left, right in pairwise(histogram.edges)]
    axes.bar(histogram.edges[:-1], histogram.counts, width=widths, align="edge", color=_PLAIN, edgecolor="white")
    axes.tick_params(labelsize=_FONT)
    axes.grid(axis="y", linewidth=0.4, alpha=0.6)
    axes.set_xlabel(x_label, fontsize=_FONT)
    axes.set_ylabel(y_label, fontsize=_FONT)
    return figure, axes


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [axis_label(name, _MAX_NAME) for name in names], fontsize=_FONT)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="x", labelsize=_FONT)
    axes.grid(axis="x", linewidth=0.4, alpha=0.6)


def _blank(title: str, height: float) -> tuple[Any, Any]:
    figure = blank_figure(_WIDTH, height)
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=11)
    hide_frame(axes)
    return figure, axes
