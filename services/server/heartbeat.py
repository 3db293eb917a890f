"""The heartbeats of forked processes: each event loop counts in memory that it shares with the process that watches them."""

from __future__ import annotations

import asyncio
import mmap

__all__ = ["Heartbeats"]

_EVERY_S = 0.5


class Heartbeats:
    """Counters that the processes forked after this share.

    :param processes: number of them.
    """

    def __init__(self, processes: int) -> None:
        self._counts = memoryview(mmap.mmap(-1, 8 * processes)).cast("Q")

    async def beat(self, number: int) -> None:
        """Count twice a second, as long as the event loop runs.

        :param number: of this process, from 0.
        """
        while True:
            self._counts[number] += 1
            await asyncio.sleep(_EVERY_S)

    def reset(self, number: int) -> None:
        """Begin again from 0, for another process in its place."""
        self._counts[number] = 0

    def count(self, number: int) -> int:
        """How often a process has counted; 0 before its event loop runs."""
        return int(self._counts[number])
