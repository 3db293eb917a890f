"""The time in which at least one of some calls is under way, however many overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["BusyTime"]


class BusyTime:
    """Adds it up.

    :param clock: seconds, of the wall or of the processor.
    :param busy_s: seconds so far; calls that are under way count when the last of them ends.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._under_way, self._since = 0, 0.0
        self.busy_s = 0.0

    @contextmanager
    def call(self) -> Iterator[None]:
        """One call is under way in the block."""
        if not self._under_way:
            self._since = self._clock()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self.busy_s += self._clock() - self._since
