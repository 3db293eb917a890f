"""Progress of a long job, and the time of its stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

__all__ = ["Progress", "no_progress", "timed"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the stage, the number of items done and the total number of items; the total is 0 when it is not known."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Put the seconds of the block under the name of the stage."""
    started = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - started
