"""Progress of a long job, and the time of its stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

__all__ = ["Progress", "no_progress", "now", "stage_clock", "timed"]

_CLOCK: ContextVar[Callable[[], float]] = ContextVar("clock", default=time.perf_counter)

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the stage, the number of items done and the total number of items; the total is 0 when it is not known."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def now() -> float:
    """Seconds of the clock that times stages: elapsed time, but inside :func:`stage_clock` of the given clock."""
    return _CLOCK.get()()


@contextmanager
def stage_clock(clock: Callable[[], float]) -> Iterator[None]:
    """Time the stages of the block by another clock, such as one of processor time."""
    token = _CLOCK.set(clock)
    try:
        yield
    finally:
        _CLOCK.reset(token)


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Put the seconds of the block under the name of the stage."""
    started = now()
    yield
    seconds[stage] = now() - started
