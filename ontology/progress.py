"""Progress of a long job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Progress", "no_progress"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the stage, the number of items done and the total number of items; the total is 0 when it is not known."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""
