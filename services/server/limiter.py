"""The limiter: at most N calls run, at most M wait, the next is refused at once."""

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

__all__ = ["Limiter", "Turn"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One call's turn on a worker.

    :param deadline: ``time.monotonic()`` second after which nothing more is to be started.
    :param queued_ms: how long it waited for the worker.
    :param abandoned: set once nobody waits for the result any more.
    """

    deadline: float
    queued_ms: float = 0.0
    abandoned: threading.Event = field(default_factory=threading.Event)


class Limiter:
    """Runs blocking work on a bounded pool of threads, for one event loop.

    A place is free again only when its thread is: a thread cannot be stopped from outside, so an abandoned call keeps
    its place until its next stage, and there are never more threads at work than ``workers``.

    :param workers: calls that run at once.
    :param queue: calls that may wait.
    """

    def __init__(self, *, workers: int, queue: int) -> None:
        self.workers = workers
        self.queue = queue
        self._admitted = 0
        self._free = asyncio.Semaphore(workers)
        self._turns: set[Turn] = set()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="egotools-worker")

    @property
    def admitted(self) -> int:
        """Calls that run or wait now."""
        return self._admitted

    async def run(self, work: Callable[[Turn], _T], *, deadline: float) -> _T:
        """Run ``work`` on a worker and hand its result back.

        :param deadline: ``time.monotonic()`` second after which nobody waits for it.
        :raises OverloadedError: at once, when every worker and every waiting place is taken.
        :raises DeadlineError: when the deadline passes, waiting or running.
        """
        if self._admitted >= self.workers + self.queue:
            raise OverloadedError(
                f"{self.workers} requests run and {self.queue} wait already",
                remedy="Try again later, or ask another replica",
            )
        self._admitted += 1
        turn: Turn | None = None
        try:
            turn = await self._wait(deadline)
            future = asyncio.get_running_loop().run_in_executor(self._pool, work, turn)
        except BaseException as error:
            self._admitted -= 1
            if turn is not None:
                self._free.release()
            if isinstance(error, RuntimeError):  # the pool takes no more work
                raise NotReadyError("the server is stopping", remedy="Ask another replica") from None
            raise
        self._turns.add(turn)
        future.add_done_callback(partial(self._release, turn))
        return await self._result(future, turn)

    def close(self) -> None:
        """Abandon what still runs and take no more work; waits for nothing."""
        for turn in self._turns:
            turn.abandoned.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _release(self, turn: Turn, future: asyncio.Future[Any]) -> None:
        self._turns.discard(turn)
        self._admitted -= 1
        self._free.release()
        if not future.cancelled():
            future.exception()  # looked at, so that an abandoned call's error is not reported as lost

    async def _wait(self, deadline: float) -> Turn:
        arrived = time.monotonic()
        try:
            async with asyncio.timeout(deadline - arrived):
                await self._free.acquire()
        except TimeoutError:
            raise DeadlineError("the deadline passed while the request waited for a worker", subject="queue") from None
        return Turn(deadline=deadline, queued_ms=(time.monotonic() - arrived) * 1e3)

    async def _result(self, future: asyncio.Future[_T], turn: Turn) -> _T:
        try:
            done, _ = await asyncio.wait({future}, timeout=max(0.0, turn.deadline - time.monotonic()))
        except asyncio.CancelledError:
            turn.abandoned.set()
            raise
        if not done:
            turn.abandoned.set()
            raise DeadlineError("the deadline passed while the request ran; later stages are not run")
        return future.result()
