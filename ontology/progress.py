"""Progress of a long job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Progress", "no_progress"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the stage, the items done and the items in all; the last is 0 where the number is not known."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""
