"""Figures for reports, drawn with matplotlib without its global state. The same data gives the same PNG bytes."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

from ontology.errors import MissingExtraError

__all__ = ["COLOURS", "axis_label", "blank_figure", "default_style", "hide_frame", "to_png"]

COLOURS = ("#56B4E9", "#E69F00", "#0072B2", "#CC79A7", "#009E73", "#F0E442")
"""Colours of the Okabe-Ito palette: distinct for colour-blind readers, and by lightness when printed in grey."""
_DPI = 144


@contextlib.contextmanager
def default_style() -> Iterator[None]:
    """Draw with matplotlib's default settings and ignore the local configuration.

    :raises MissingExtraError: when matplotlib is not installed.
    """
    try:
        from matplotlib import style
    except ImportError as error:
        raise MissingExtraError("pictures of a report", extra="eval") from error
    with style.context("default", after_reset=True):
        yield


def blank_figure(width: float, height: float) -> Any:
    """Return an empty matplotlib figure; width and height in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def hide_frame(axes: Any) -> None:
    """Hide the top and the right spine of the axes, and draw the grid below the data."""
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def axis_label(name: str, max_chars: int) -> str:
    """Return a name cut to ``max_chars`` characters, with dollar signs escaped: matplotlib reads ``$`` as a formula."""
    plain = " ".join(name.split())
    short = plain if len(plain) <= max_chars else f"{plain[: max_chars - 1]}…"
    return short.replace("$", r"\$")


def to_png(figure: Any, description: str) -> bytes:
    """Return the figure as PNG bytes without date and version, so that they depend on the data alone."""
    buffer = io.BytesIO()
    with default_style(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a character that the font lacks is drawn as a box
        figure.savefig(buffer, format="png", metadata={"Software": None, "Description": description})
    return buffer.getvalue()
