"""Admission: what a call may take: before its message is read bytes, and a place among the open calls; then a turn on the workers, which are
given round robin between callers.

gRPC runs a handler of a method with one request only when the whole message was read. So every method is given to gRPC as one
with a stream of requests: its handler runs when the headers have come, and reads the one message when there is room for it.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from ontology.errors import DeadlineError, InvalidArgumentError, NotReadyError, OverloadedError, TooLargeError
from services.server.calls import CallRecord
from services.server.settings import ServerSettings

_T = TypeVar("_T")
_BYTES_WAIT_S = 1.0
_UNIT_S, _MOST_HINT_S, _SWITCH_S = 0.05, 2.0, 0.001
_MOST_CHEAP = 4  # units: beyond a fifth of a second, others would wait long for a worker
MOST_SINGLE_BYTES = 1024 * 1024  # of the message of a method that takes one request, where the settings allow more
BATCH_METHODS = frozenset({"RetrieveBatch"})


class _Shares:
    """What peers hold: ``each`` of one peer at most, ``together`` of all. One that holds nothing yet may take its first up to twice
    ``together``: others who hold all do not keep it out."""

    def __init__(self, *, each: int, together: int) -> None:
        self._each, self._together, self.held = each, together, 0
        self._of: Counter[str] = Counter()

    def fits(self, peer: str, size: int) -> bool:
        """Whether a peer may take so much more."""
        own = self._of[peer]
        return own + size <= self._each and self.held + size <= self._together * (1 if own else 2)

    def change(self, peer: str, size: int) -> None:
        """Count ``size`` more of a peer, or less."""
        self.held += size
        self._of[peer] += size
        if not self._of[peer]:
            del self._of[peer]


class PeerCalls(_Shares):
    """Counts open calls."""

    def begin(self, peer: str) -> Callable[[], None]:
        """Count one more call of a peer; call what is returned when it ends."""
        if not self.fits(peer, 1):
            problem = f"this peer has {self._of[peer]:,} open calls, and all peers have {self.held:,}"
            raise OverloadedError(problem, remedy="End some of them, or use another replica")
        self.change(peer, 1)
        return partial(self.change, peer, -1)


class ByteBudget(_Shares):
    """Bytes held by the calls of one server, of which one peer may hold a quarter. Use it in one event loop."""

    def __init__(self, total: int, *, message: int) -> None:
        super().__init__(each=max(total // 4, message), together=max(total, 2 * message))
        self._message = message
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # a peer's calls wait in its own
        self._freed = asyncio.Event()

    async def reserve(self, peer: str) -> HeldBytes:
        """Reserve the bytes of one message, and wait up to a second for them."""
        turn = self._turns.setdefault(peer, asyncio.Lock())
        try:
            async with asyncio.timeout(_BYTES_WAIT_S), turn:
                while not self.fits(peer, self._message):
                    await self._freed.wait()
                self.change(peer, self._message)
        except TimeoutError:
            problem = "requests and unread answers of this peer, or of all, take all the memory they may"
            remedy = "Read the answers, send fewer calls at once, or use another replica"
            raise OverloadedError(problem, subject="max_inflight_bytes", remedy=remedy) from None
        return HeldBytes(self, peer, self._message)

    def change(self, peer: str, size: int) -> None:
        """Count ``size`` more bytes of a peer, or fewer, and wake those who wait for them."""
        super().change(peer, size)
        if size < 0:
            self._freed.set()
            self._freed.clear()


@dataclass(slots=True)
class HeldBytes:
    """The bytes that one call holds."""

    budget: ByteBudget
    peer: str
    size: int

    def resize(self, size: int) -> None:
        """Hold ``size`` bytes instead; 0: none any more. It may exceed the budget by what was made already."""
        change, self.size = size - self.size, size
        self.budget.change(self.peer, change)


class Admission:
    """The room for the calls of one port, for one event loop; ``wait_s`` seconds for a message, by default those of the server's deadline."""

    def __init__(
        self, settings: ServerSettings, *, most_single: int = MOST_SINGLE_BYTES, wait_s: float | None = None
    ) -> None:
        self.read_limit = settings.max_message_bytes * 5 // 4  # of gRPC: above the limit, to say here what is wrong
        self.bytes = ByteBudget(settings.max_inflight_bytes, message=self.read_limit)
        self.calls = PeerCalls(each=settings.max_peer_calls, together=settings.max_calls)
        self._wait_s = settings.default_deadline_s if wait_s is None else wait_s
        self._most, self._most_single = settings.max_message_bytes, min(most_single, settings.max_message_bytes)

    async def read(self, method: str, peer: str, context: Any) -> tuple[bytes, HeldBytes]:
        """Read the message of a call when there is room for it; return it with the bytes that are held until the answer is sent."""
        most = self._most if method in BATCH_METHODS else self._most_single
        held = await self.bytes.reserve(peer)
        context.add_done_callback(lambda _: held.resize(0))
        try:
            async with asyncio.timeout(self._wait_s):
                raw = await context.read()
        except TimeoutError:
            raise DeadlineError("the message of the call did not come", subject="request") from None
        if not isinstance(raw, bytes):
            raise InvalidArgumentError("the call has no message", subject="request", remedy="Send one message")
        held.resize(size := len(raw))
        if size > most:
            del raw  # the error would keep it alive
            held.resize(0)
            problem = f"the request has {size:,} bytes; at most {most:,} are taken"
            remedy = "Send the request itself, not the conversation; split a batch into several calls"
            raise TooLargeError(problem, subject="request", remedy=remedy)
        return raw, held


# -- turns on the workers -----------------------------------------------------------------------------------------------

# Those between whom turns are fair: a tenant, and in it a caller, or without a name its address
Flow: TypeAlias = tuple[str, str]


def flow_of(call: CallRecord, tenant: str) -> Flow:
    """Whose turn a call takes."""
    return tenant, call.caller.name or call.peer


@dataclass(slots=True, eq=False)
class Turn:
    """One piece of work on a worker."""

    work: Callable[[Turn], Any]
    flow: Flow
    cost: int  # in units of 50 ms, from 1
    begun: bool  # whether earlier pieces of its call ran already; such a turn neither fills the queue nor gives way
    deadline: float  # time of ``time.monotonic()``, in seconds, after which no further stage starts
    running: asyncio.Future[asyncio.Future[Any]]  # done when it has a worker, or is refused
    arrived: float = field(default_factory=time.monotonic)
    queued_ms: float = 0.0  # milliseconds that it waited for its worker
    abandoned: threading.Event = field(default_factory=threading.Event)  # set when no caller waits for the result


class Limiter:
    """Runs blocking work on ``workers`` threads, for one event loop; work of ``queue`` units may wait, round robin
    between its flows. A worker is free only when its thread is: a thread cannot be stopped from outside, so abandoned
    work keeps it until its next stage. Work of more than 4 units gets all workers but one, where there are two or more:
    short work that comes meanwhile needs it."""

    def __init__(self, *, workers: int, queue: int) -> None:
        self.workers, self.queue = workers, queue
        self._waiting: dict[Flow, deque[Turn]] = {}  # the flow that comes next stands first
        self._working: set[Turn] = set()  # those that have a worker
        sys.setswitchinterval(_SWITCH_S)  # of the process: busy workers let the event loop run sooner, which refuses
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="egotools-worker")

    @property
    def queued(self) -> int:
        """Cost of the work that waits now, in units."""
        return sum(map(self._cost, self._waiting))

    @property
    def admitted(self) -> int:
        """Number of pieces of work that run or wait now."""
        return len(self._working) + sum(map(len, self._waiting.values()))

    def check(self, flow: Flow) -> None:
        """Refuse at once what :meth:`run` would refuse, before anything is spent on it."""
        if len(self._working) >= self.workers and self.queued >= self.queue and self._largest() == flow:
            raise self._overloaded()

    async def run(
        self, work: Callable[[Turn], _T], *, deadline: float, flow: Flow, cost: int = 1, begun: bool = False
    ) -> _T:
        """Run ``work`` on a worker and return its result; the parameters are those of :class:`Turn`. A later piece of
        a call comes before what its flow has not begun; of a full queue the newest turn of the flow with most gives way."""
        turn = Turn(work, flow, cost, begun, deadline, asyncio.get_running_loop().create_future())
        turns = self._waiting.setdefault(flow, deque())
        (turns.appendleft if begun else turns.append)(turn)
        self._start()
        while not begun and not turn.running.done() and self.queued - cost >= self.queue:
            refused = next(each for each in reversed(self._waiting[self._largest()]) if not each.begun)
            self._remove(refused)
            refused.running.set_exception(self._overloaded())
            refused.running.exception()  # retrieved: its caller may have been cancelled, and asyncio would log it
        try:  # to wait cancels no future: a turn that waits is not done, and one that runs has its worker until it ends
            await asyncio.wait({turn.running}, timeout=max(0.0, deadline - turn.arrived))
            if not turn.running.done():
                raise DeadlineError("the deadline passed while the request waited for a worker", subject="queue")
            future = turn.running.result()
            await asyncio.wait({future}, timeout=max(0.0, deadline - time.monotonic()))
            if not future.done():
                raise DeadlineError("the deadline passed while the request ran; later stages are not run")
            return future.result()  # type: ignore[no-any-return]
        finally:
            self._remove(turn)
            turn.abandoned.set()

    def close(self) -> None:
        """Mark the running work as abandoned and accept no more. Does not wait."""
        for turn in self._working:
            turn.abandoned.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _cost(self, flow: Flow) -> int:
        """What the turns of a flow add to the queue."""
        return sum(turn.cost for turn in self._waiting[flow] if not turn.begun)

    def _largest(self) -> Flow:
        return max(self._waiting, key=self._cost, default=("", ""))

    def _remove(self, turn: Turn) -> None:
        turns = self._waiting.get(turn.flow, deque())
        if turn in turns:
            turns.remove(turn)
        if not turns:
            self._waiting.pop(turn.flow, None)

    def _overloaded(self) -> OverloadedError:
        return OverloadedError(
            f"{self.workers} requests run, and requests that cost {self.queued:,} units wait already",
            remedy="Try again later, or use another replica",
            retry_after_s=min(max(self.queued * _UNIT_S / self.workers, _UNIT_S), _MOST_HINT_S),
        )

    def _start(self) -> None:
        while len(self._working) < self.workers:
            dear = sum(turn.cost > _MOST_CHEAP for turn in self._working)
            most = _MOST_CHEAP if 0 < self.workers - 1 <= dear else sys.maxsize
            turn = next((each for turns in self._waiting.values() for each in turns if each.cost <= most), None)
            if turn is None:
                return
            self._waiting[turn.flow] = self._waiting.pop(turn.flow)  # to the end
            self._remove(turn)
            turn.queued_ms = (time.monotonic() - turn.arrived) * 1e3
            try:
                future = asyncio.get_running_loop().run_in_executor(self._pool, turn.work, turn)
            except RuntimeError:  # the pool takes no more work
                turn.running.set_exception(NotReadyError("the server is stopping", remedy="Use another replica"))
                continue
            self._working.add(turn)
            future.add_done_callback(partial(self._ended, turn))
            turn.running.set_result(future)

    def _ended(self, turn: Turn, future: asyncio.Future[Any]) -> None:
        self._working.discard(turn)
        self._start()
        if not future.cancelled():
            future.exception()  # retrieved, so that asyncio does not log the error of abandoned work
