"""Pictures of a run as PNG, the same bytes for the same figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ontology.pictures import COLOURS, axis_label, blank_figure, default_style, hide_frame, to_png

__all__ = ["PICTURES", "draw_pictures"]

_PLAIN = COLOURS[2]
_WIDTH = 8.0  # inches
_BAR = 0.34  # inches a bar
_MARGIN = 1.1  # inches for title and axis
_LOW = 3.0  # inches, of a histogram
_MOST_NAME = 60  # characters of a name on an axis
_MOST_REASONS = 14

Figures = Mapping[str, Any]


def draw_pictures(figures: Figures) -> dict[str, bytes]:
    """File name → PNG of each picture that has something to show.

    :param figures: of :func:`datagen.report.figures.made_figures`.
    :raises MissingExtraError: when matplotlib is not installed.
    """
    pictures = {}
    with default_style():
        for name, (title, draw) in PICTURES.items():
            figure = draw(figures, title)
            if figure is not None:
                pictures[name] = to_png(figure, f"{title}. Snapshot {figures['snapshot_id']}, seed {figures['seed']}.")
    return pictures


def _classes(figures: Figures, title: str) -> Any:
    classes = figures["classes"]
    made = [row["made"] for row in classes.values()]
    total = max(sum(made), 1)
    figure, axes = _bars(title, list(classes), [100 * count / total for count in made])
    for place, count in enumerate(made):
        axes.annotate(f" {count:,}", (100 * count / total, place), va="center", fontsize=8)
    axes.set_xlabel("% of the requests", fontsize=8)
    axes.margins(x=0.1)
    return figure


def _sizes(figures: Figures, title: str) -> Any:
    return _stacked(title, figures["gold_set_sizes"], "{} tools")


def _shapes(figures: Figures, title: str) -> Any:
    return _stacked(title, figures["shapes"], "{}")


def _nearest(figures: Figures, title: str) -> Any:
    diversity = figures["diversity"]
    if diversity["texts"] < 2:
        return None
    figure, axes = _histogram(title, diversity["histogram"])
    axes.set_xlabel(f"cosine of a request to the one closest to it ({diversity['encoder']})", fontsize=8)
    axes.set_ylabel("requests", fontsize=8)
    return figure


def _likeness(figures: Figures, title: str) -> Any:
    histogram = figures["graph"].get("pp_distribution")
    if not histogram or not sum(histogram["counts"]):
        return None
    figure, axes = _histogram(title, histogram)
    threshold = figures["graph"]["pp_threshold"]
    axes.axvline(threshold, color=COLOURS[1], linewidth=1.5)
    axes.annotate(f" {threshold:.3f}", (threshold, axes.get_ylim()[1]), va="top", fontsize=8)
    axes.set_xlabel("cosine of the inputs of two tools of one block", fontsize=8)
    axes.set_ylabel("pairs of tools", fontsize=8)
    return figure


def _rejected(figures: Figures, title: str) -> Any:
    reasons = [
        (f"{stage}: {reason}", count) for stage, found in figures["rejected"].items() for reason, count in found.items()
    ]
    if not reasons:
        return None
    reasons = sorted(reasons, key=lambda item: (-item[1], item[0]))[:_MOST_REASONS]
    figure, axes = _bars(title, [reason for reason, _ in reasons], [count for _, count in reasons])
    axes.set_xlabel("rejections", fontsize=8)
    return figure


PICTURES: Mapping[str, tuple[str, Callable[[Figures, str], Any]]] = {
    "classes.png": ("Requests by class", _classes),
    "gold_sets.png": ("Tools a request, by class", _sizes),
    "shapes.png": ("Shapes of the tool paths, by class", _shapes),
    "nearest.png": ("How close the closest requests are", _nearest),
    "likeness.png": ("Likeness of inputs, and the threshold of the P-P graph", _likeness),
    "rejected.png": ("Rejections by stage and reason", _rejected),
}
"""File name → title and how it is drawn: None where there is nothing to show."""


def _bars(title: str, names: Sequence[str], values: Sequence[float]) -> tuple[Any, Any]:
    figure, axes = _blank(title, _MARGIN + _BAR * max(len(names), 1))
    axes.barh(range(len(names)), values, height=0.72, color=_PLAIN)
    _names_down(axes, names)
    return figure, axes


def _stacked(title: str, counts: Mapping[str, Mapping[str, int]], label: str) -> Any:
    """Bars of 100 % for each class, split by what is counted."""
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
    _names_down(axes, list(counts))
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the requests of the class", fontsize=8)
    figure.legend(loc="outside lower center", ncols=len(parts), frameon=False, fontsize=8)
    return figure


def _histogram(title: str, histogram: Mapping[str, Sequence[float]]) -> tuple[Any, Any]:
    figure, axes = _blank(title, _LOW)
    edges = histogram["edges"]
    widths = [right - left for left, right in pairwise(edges)]
    axes.bar(edges[:-1], histogram["counts"], width=widths, align="edge", color=_PLAIN, edgecolor="white")
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", linewidth=0.4, alpha=0.6)
    return figure, axes


def _names_down(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [axis_label(name, _MOST_NAME) for name in names], fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", linewidth=0.4, alpha=0.6)


def _blank(title: str, height: float) -> tuple[Any, Any]:
    figure = blank_figure(_WIDTH, height)
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=11)
    hide_frame(axes)
    return figure, axes
