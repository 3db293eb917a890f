"""Pictures for reports: a figure of matplotlib, drawn without its global state, as PNG with the same bytes for the same data."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

from ontology.errors import MissingExtraError

__all__ = ["COLOURS", "axis_label", "blank_figure", "default_style", "hide_frame", "to_png"]

COLOURS = ("#56B4E9", "#E69F00", "#0072B2", "#CC79A7", "#009E73", "#F0E442")
"""Of the Okabe-Ito palette: distinct for colour-blind readers, and in grey print by their lightness."""
_DPI = 144


@contextlib.contextmanager
def default_style() -> Iterator[None]:
    """Draw with the library's own defaults, whatever the settings of this machine are.

    :raises MissingExtraError: when matplotlib is not installed.
    """
    try:
        from matplotlib import style
    except ImportError as error:
        raise MissingExtraError("pictures of a report", extra="eval") from error
    with style.context("default", after_reset=True):
        yield


def blank_figure(width: float, height: float) -> Any:
    """An empty figure of matplotlib; width and height in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def hide_frame(axes: Any) -> None:
    """Leave out the upper and the right line around the axes, and draw the grid below the data."""
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def axis_label(name: str, most: int) -> str:
    """A name of at most so many characters for an axis. A dollar sign is escaped, because it would start a formula."""
    plain = " ".join(name.split())
    short = plain if len(plain) <= most else f"{plain[: most - 1]}…"
    return short.replace("$", r"\$")


def to_png(figure: Any, description: str) -> bytes:
    """The figure as PNG, without date and version, so that its bytes depend on the data alone."""
    buffer = io.BytesIO()
    with default_style(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a character that the font lacks is drawn as a box
        figure.savefig(buffer, format="png", metadata={"Software": None, "Description": description})
    return buffer.getvalue()
