"""The limiter: at most N pieces of work run, work of a bounded cost waits in a fair queue, and more is refused at once."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from ontology.errors import DeadlineError, NotReadyError, OverloadedError
from services.server.admission.fair_queue import FairQueue, Flow, Turn

__all__ = ["Limiter", "Slot"]

_T = TypeVar("_T")
_NOBODY = Flow()
_FIRST_UNIT_S = 0.05
_SMOOTHING = 0.05
_SWITCH_S = 0.001
_LEAST_HINT_S, _MOST_HINT_S = 0.05, 2.0
_MOST_CHEAP = 4  # units: beyond a fifth of a second, others would wait long for a worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The worker slot of one piece of work.

    :param deadline: time of ``time.monotonic()``, in seconds, after which no further stage starts.
    :param queued_ms: milliseconds that it waited for the slot.
    :param abandoned: set when no caller waits for the result any more.
    """

    deadline: float
    queued_ms: float = 0.0
    abandoned: threading.Event = field(default_factory=threading.Event)


class Limiter:
    """Runs blocking work on a bounded pool of threads, for one event loop.

    A slot is released only when its thread is idle: a thread cannot be stopped from outside, so abandoned work keeps
    its slot until its next stage. At most ``workers`` threads run at any time. Work of more than 4 units gets all of them but one,
    where there are two or more: a worker cannot be taken back from it for short work that comes meanwhile.

    :param workers: maximum number of pieces of work that run at the same time.
    :param queue: cost in units that may wait; see :class:`services.server.admission.fair_queue.FairQueue`.
    """

    def __init__(self, *, workers: int, queue: int) -> None:
        self.workers = workers
        self.queue = queue
        self._queue = FairQueue(queue)
        self._admitted = 0
        self._busy = 0
        self._dear = 0  # of the busy ones
        self._unit_s = _FIRST_UNIT_S
        self._slots: set[Slot] = set()
        sys.setswitchinterval(_SWITCH_S)  # of the process: busy workers let the event loop run sooner, which refuses
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="egotools-worker")

    @property
    def queued(self) -> int:
        """Cost of the work that waits now, in units."""
        return self._queue.cost

    @property
    def admitted(self) -> int:
        """Number of pieces of work that run or wait now."""
        return self._admitted

    def check(self, flow: Flow) -> None:
        """Refuse at once what :meth:`run` would refuse, before anything is spent on it.

        :raises OverloadedError: when the queue is full, and mostly with work of this flow.
        """
        if self._busy >= self.workers and self._queue.refuses(flow):
            raise self._overloaded()

    async def run(
        self, work: Callable[[Slot], _T], *, deadline: float, flow: Flow = _NOBODY, cost: int = 1, begun: bool = False
    ) -> _T:
        """Run ``work`` on a worker and return its result.

        :param deadline: time of ``time.monotonic()``, in seconds, after which the caller does not wait.
        :param flow: between which turns are fair.
        :param cost: in units, from 1.
        :param begun: whether earlier work of the same call ran; it is not refused then.
        :raises OverloadedError: when all workers are busy and the queue is full: at once, or as soon as a flow with less in
            the queue needs the place.
        :raises DeadlineError: when the deadline passes while the work waits or runs.
        """
        self._admitted += 1
        try:
            slot = await self._slot(flow, cost, begun, deadline)
        except BaseException:
            self._admitted -= 1
            raise
        try:
            future = asyncio.get_running_loop().run_in_executor(self._pool, work, slot)
        except RuntimeError:  # the pool takes no more work
            self._admitted -= 1
            self._free(cost)
            raise NotReadyError("the server is stopping", remedy="Use another replica") from None
        self._slots.add(slot)
        future.add_done_callback(partial(self._release, slot, cost, time.monotonic()))
        return await self._result(future, slot)

    def close(self) -> None:
        """Mark the running work as abandoned and accept no more. Does not wait."""
        for slot in self._slots:
            slot.abandoned.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _slot(self, flow: Flow, cost: int, begun: bool, deadline: float) -> Slot:
        arrived = time.monotonic()
        turn = Turn(flow=flow, cost=cost, begun=begun, ready=asyncio.get_running_loop().create_future())
        self._queue.push(turn)
        self._start()
        for refused in self._queue.shed(turn):
            if not refused.ready.done():
                refused.ready.set_exception(self._overloaded())
        try:
            async with asyncio.timeout(deadline - arrived):
                await turn.ready
        except BaseException as error:
            self._queue.remove(turn)
            if turn.ready.done() and not turn.ready.cancelled() and turn.ready.exception() is None:
                self._free(cost)  # a worker became free for it in the same moment
            if isinstance(error, TimeoutError):
                raise DeadlineError(
                    "the deadline passed while the request waited for a worker", subject="queue"
                ) from None
            raise
        return Slot(deadline=deadline, queued_ms=(time.monotonic() - arrived) * 1e3)

    def _overloaded(self) -> OverloadedError:
        wait_s = self._queue.cost * self._unit_s / self.workers
        return OverloadedError(
            f"{self.workers} requests run, and requests that cost {self._queue.cost:,} units wait already",
            remedy="Try again later, or use another replica",
            retry_after_s=min(max(wait_s, _LEAST_HINT_S), _MOST_HINT_S),
        )

    def _start(self) -> None:
        while self._busy < self.workers:
            most = _MOST_CHEAP if 0 < self.workers - 1 <= self._dear else None
            turn = self._queue.pop(most)
            if turn is None:
                return
            if not turn.ready.done():
                self._busy += 1
                self._dear += turn.cost > _MOST_CHEAP
                turn.ready.set_result(None)

    def _free(self, cost: int) -> None:
        self._busy -= 1
        self._dear -= cost > _MOST_CHEAP
        self._start()

    def _release(self, slot: Slot, cost: int, started: float, future: asyncio.Future[Any]) -> None:
        self._slots.discard(slot)
        self._admitted -= 1
        self._unit_s += _SMOOTHING * ((time.monotonic() - started) / cost - self._unit_s)
        self._free(cost)
        if not future.cancelled():
            future.exception()  # retrieved, so that asyncio does not log the error of abandoned work

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
