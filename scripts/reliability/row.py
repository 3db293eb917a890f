"""One row of docs/reliability.md: what is promised, the figure to hold, and the function that measures it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Figure", "Row"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What was measured.

    :param text: the figure with its unit, and what was counted: ``100 of 100 trials``.
    :param held: whether it is within the bar.
    """

    text: str
    held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One promise, measured.

    :param key: short name, unique: ``kill-publish``.
    :param item: what is promised, one sentence.
    :param bar: the figure to hold.
    :param measure: measures it in an empty folder of its own.
    :param fast: whether it takes less than about 30 s, so that CI runs it.
    """

    key: str
    item: str
    bar: str
    measure: Callable[[Path], Figure]
    fast: bool = True
