"""The time of day as far as tokens may trust it: a clock that jumps lets nobody in."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["SteadyClock"]


class SteadyClock:
    """Two readings of the time, in seconds since 1970.

    The time of day is compared with the time that has passed since the start. When the clock was set back, an expired token stays
    expired; when it was set forward, a token of the future is not valid yet. Both end when the clock is right again.

    :param wall: the clock of the system.
    :param passed: seconds that never go back.
    """

    def __init__(self, wall: Callable[[], float] = time.time, passed: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._passed = passed
        self._start = wall() - passed()

    def latest(self) -> float:
        """The latest time that it may be: what expired by then has expired."""
        return max(self._wall(), self._start + self._passed())

    def earliest(self) -> float:
        """The earliest time that it may be: what begins later has not begun."""
        return min(self._wall(), self._start + self._passed())
