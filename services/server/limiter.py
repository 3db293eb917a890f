"""The concurrency limiter: at most N calls run, at most M wait in the queue, and one more is refused at once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from ontology.errors import DeadlineError, NotReadyError, OverloadedError

__all__ = ["Limiter", "Slot"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The worker slot of one call.

    :param deadline: time of ``time.monotonic()``, in seconds, after which no further stage starts.
    :param queued_ms: milliseconds that the call waited for the slot.
    :param abandoned: set when no caller waits for the result any more.
    """

    deadline: float
    queued_ms: float = 0.0
    abandoned: threading.Event = field(default_factory=threading.Event)


class Limiter:
    """Runs blocking work on a bounded pool of threads, for one event loop.

    A slot is released only when its thread is idle: a thread cannot be stopped from outside, so an abandoned call keeps
    its slot until its next stage. At most ``workers`` threads run at any time.

    :param workers: maximum number of calls that run at the same time.
    :param queue: maximum number of calls that wait.
    """

    def __init__(self, *, workers: int, queue: int) -> None:
        self.workers = workers
        self.queue = queue
        self._admitted = 0
        self._free = asyncio.Semaphore(workers)
        self._slots: set[Slot] = set()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="egotools-worker")

    @property
    def admitted(self) -> int:
        """Number of calls that run or wait now."""
        return self._admitted

    async def run(self, work: Callable[[Slot], _T], *, deadline: float) -> _T:
        """Run ``work`` on a worker and return its result.

        :param deadline: time of ``time.monotonic()``, in seconds, after which the caller does not wait.
        :raises OverloadedError: at once, when all workers are busy and the queue is full.
        :raises DeadlineError: when the deadline passes while the call waits or runs.
        """
        if self._admitted >= self.workers + self.queue:
            raise OverloadedError(
                f"{self.workers} requests run and {self.queue} wait already",
                remedy="Try again later, or use another replica",
            )
        self._admitted += 1
        slot: Slot | None = None
        try:
            slot = await self._wait(deadline)
            future = asyncio.get_running_loop().run_in_executor(self._pool, work, slot)
        except BaseException as error:
            self._admitted -= 1
            if slot is not None:
                self._free.release()
            if isinstance(error, RuntimeError):  # the pool takes no more work
                raise NotReadyError("the server is stopping", remedy="Use another replica") from None
            raise
        self._slots.add(slot)
        future.add_done_callback(partial(self._release, slot))
        return await self._result(future, slot)

    def close(self) -> None:
        """Mark the running calls as abandoned and accept no more work. Does not wait."""
        for slot in self._slots:
            slot.abandoned.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _release(self, slot: Slot, future: asyncio.Future[Any]) -> None:
        self._slots.discard(slot)
        self._admitted -= 1
        self._free.release()
        if not future.cancelled():
            future.exception()  # retrieved, so that asyncio does not log the error of an abandoned call

    async def _wait(self, deadline: float) -> Slot:
        arrived = time.monotonic()
        try:
            async with asyncio.timeout(deadline - arrived):
                await self._free.acquire()
        except TimeoutError:
            raise DeadlineError("the deadline passed while the request waited for a worker", subject="queue") from None
        return Slot(deadline=deadline, queued_ms=(time.monotonic() - arrived) * 1e3)

    async def _result(self, future: asyncio.Future[_T], slot: Slot) -> _T:
        try:
            done, _ = await asyncio.wait({future}, timeout=max(0.0, slot.deadline - time.monotonic()))
        except asyncio.CancelledError:
            slot.abandoned.set()
            raise
        if not done:
            slot.abandoned.set()
            raise DeadlineError("the deadline passed while the request ran; later stages are not run")
        return future.result()
