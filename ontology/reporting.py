"""What reports and long jobs share: Markdown text, pictures, shares with intervals, progress."""

from __future__ import annotations

import ctypes
import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from pydantic import computed_field
from pydantic.dataclasses import dataclass

# What opens markup inside a line. A bracket does only where a link can follow it, an underscore not inside a word,
# an ampersand before an entity, a smaller-than before a tag.
_MARKUP = re.compile(r"[\\`*|]|~(?=~)|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_LINE_START = re.compile(r"^(?:(?=[#+\-=>])|(\d+)(?=[.)](?:\s|$)))")


def escape_markdown(text: str) -> str:
    """Text that is shown unchanged inside a line of Markdown, also in a table; line breaks become spaces."""
    return _MARKUP.sub(lambda found: "\\" + found.group(0), " ".join(text.split()))


def escape_line(text: str) -> str:
    """Text that is shown unchanged on a line of its own: it starts no heading, list or rule."""
    return _LINE_START.sub(lambda found: f"{found.group(1) or ''}\\", escape_markdown(text))


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


now = time.perf_counter  # seconds of the clock that times stages


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Put the seconds of the block under the name of the stage."""
    started = now()
    yield
    seconds[stage] = now() - started


def return_freed_memory() -> None:
    """Return what was freed to the system, where the allocator is glibc's: of a build it keeps a fifth of the peak (4,629 real tools)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
