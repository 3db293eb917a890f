"""What reports and long jobs share: Markdown text, pictures, shares with intervals, progress."""

from __future__ import annotations

import contextlib
import io
import math
import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from pydantic import computed_field
from pydantic.dataclasses import dataclass

from ontology.errors import MissingExtraError

# What opens markup inside a line. A bracket does only where a link can follow it, an underscore not inside a word,
# an ampersand before an entity, a smaller-than before a tag.
_MARKUP = re.compile(r"[\\`*|]|~(?=~)|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_TITLE_MARKUP = re.compile(rf"{_MARKUP.pattern}|[\[\]]")
_LINE_START = re.compile(r"^(?:(?=[#+\-=>])|(\d+)(?=[.)](?:\s|$)))")


def escape_markdown(text: str) -> str:
    """Text that is shown unchanged inside a line of Markdown, also in a table; line breaks become spaces."""
    return _MARKUP.sub(lambda found: "\\" + found.group(0), " ".join(text.split()))


def escape_line(text: str) -> str:
    """Text that is shown unchanged on a line of its own: it starts no heading, list or rule."""
    return _LINE_START.sub(lambda found: f"{found.group(1) or ''}\\", escape_markdown(text))


def escape_title(text: str) -> str:
    """Escape text between the brackets of a picture or a link, where any other bracket could end it."""
    return _TITLE_MARKUP.sub(lambda found: "\\" + found.group(0), " ".join(text.split()))


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


_Z = 1.959964  # two-sided 95 % of the normal distribution


@dataclass(frozen=True, slots=True)
class Proportion:
    """``hits`` of ``of`` cases. In JSON: ``hits, of, value, low, high``; the last three are null without cases."""

    hits: int
    of: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def value(self) -> float | None:
        """The share in [0, 1]; None without cases."""
        return self.hits / self.of if self.of else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def low(self) -> float | None:
        """Lower end of the 95 % Wilson interval, in [0, 1]."""
        return max(0.0, self._bound(-1)) if self.of else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def high(self) -> float | None:
        """Upper end of the 95 % Wilson interval, in [0, 1]."""
        return min(1.0, self._bound(+1)) if self.of else None

    def _bound(self, side: int) -> float:
        share, spread = self.hits / self.of, _Z * _Z / self.of
        half = math.sqrt(share * (1 - share) * spread + spread * spread / 4)
        return (share + spread / 2 + side * half) / (1 + spread)


Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the stage, the number of items done and the total number of items; the total is 0 when it is not known."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def now() -> float:
    """Seconds of the clock that times stages."""
    return time.perf_counter()


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Put the seconds of the block under the name of the stage."""
    started = now()
    yield
    seconds[stage] = now() - started
