"""Admission: what a call may take before it is answered. Bytes and a place among the open calls before its message is read, then turns on
the workers: one queue for each caller of each tenant, round robin.

gRPC runs a handler of a method with one request only when the whole message was read. So every method is given to gRPC as one
with a stream of requests: its handler runs when the headers have come, and reads the one message when there is room for it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import sys
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from ontology.errors import DeadlineError, InvalidArgumentError, NotReadyError, OverloadedError, TooLargeError
from services.server.settings import ServerSettings

_T = TypeVar("_T")
_BYTES_WAIT_S = 1.0
MOST_SINGLE_BYTES = 1024 * 1024
"""Of the message of a method that takes one request, where the settings allow more."""
BATCH_METHODS = frozenset({"RetrieveBatch"})
_IPV6_NETWORK_BITS = 64  # one host has many addresses there


def peer_of(context: Any) -> str:
    """Return the address of the other end of a call without its port; see :func:`address_network`."""
    peer: str = context.peer()
    address, port = peer.rpartition(":")[::2]
    if not address.startswith("ipv6:"):
        return address or port
    return address_network(unquote(address.removeprefix("ipv6:")).strip("[]")) or address


def address_network(host: str) -> str:
    """Return an address as the name of a peer, of IPv6 its network; empty for a text that is no address."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return f"ipv6:{ipaddress.ip_network((int(found), _IPV6_NETWORK_BITS), strict=False)}"
        found = found.ipv4_mapped
    return f"ipv4:{found}"


class PeerCalls:
    """Counts open calls, ``each`` of one peer at most. A peer that has none may begin one up to twice ``together``."""

    def __init__(self, *, each: int, together: int) -> None:
        self._each, self._together, self.open = each, together, 0
        self._of: Counter[str] = Counter()

    def begin(self, peer: str) -> None:
        """Count one more call of a peer."""
        own = self._of[peer]
        if own >= self._each or self.open >= self._together * (1 if own else 2):
            problem = f"this peer has {own:,} open calls, and all peers have {self.open:,}"
            raise OverloadedError(problem, remedy="End some of them, or use another replica")
        self._of[peer] += 1
        self.open += 1

    def end(self, peer: str) -> None:
        """Count one call less."""
        self.open -= 1
        self._of[peer] -= 1
        if not self._of[peer]:
            del self._of[peer]


class ByteBudget:
    """Bytes held by the calls of one server. Use it in one event loop.

    One peer may hold a quarter. One that holds nothing yet is served even when others hold all, up to twice the total.
    """

    def __init__(self, total: int, *, message: int) -> None:
        self._message, self._total, self._share = message, max(total, 2 * message), max(total // 4, message)
        self._of: Counter[str] = Counter()
        self._waiting: defaultdict[str, deque[asyncio.Future[None]]] = defaultdict(deque)
        self.held = 0

    async def reserve(self, peer: str) -> HeldBytes:
        """Reserve the bytes of one message, and wait up to a second for them."""
        if self._fits(peer) and peer not in self._waiting:
            self.change(peer, self._message)
            return HeldBytes(self, peer, self._message)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[peer].append(turn)
        try:
            async with asyncio.timeout(_BYTES_WAIT_S):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():  # granted in the same moment
                self.change(peer, -self._message)
            if not isinstance(error, TimeoutError):
                raise
            raise OverloadedError(
                "requests and unread answers of this peer, or of all, take all the memory they may",
                subject="max_inflight_bytes",
                remedy="Read the answers, send fewer calls at once, or use another replica",
            ) from None
        return HeldBytes(self, peer, self._message)

    def change(self, peer: str, size: int) -> None:
        """Count ``size`` more bytes of a peer, or fewer, and let those in who wait for them."""
        self.held += size
        self._of[peer] += size
        if not self._of[peer]:
            del self._of[peer]
        for other in list(self._waiting) if size < 0 else ():
            turns = self._waiting[other]
            while turns and (turns[0].done() or self._fits(other)):
                turn = turns.popleft()
                if not turn.done():
                    turn.set_result(None)
                    self.change(other, self._message)
            if not turns:
                del self._waiting[other]

    def _fits(self, peer: str) -> bool:
        own = self._of.get(peer, 0)
        if not own:
            return self.held + self._message <= 2 * self._total
        return own + self._message <= self._share and self.held + self._message <= self._total


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
    """The room for the calls of one port. Use it in one event loop.

    :param most_single: bytes of the message of a method that takes one request, where the settings allow more.
    :param wait_s: seconds for a message after the headers of its call; None: the server's default deadline.
    """

    def __init__(
        self, settings: ServerSettings, *, most_single: int = MOST_SINGLE_BYTES, wait_s: float | None = None
    ) -> None:
        self.read_limit = settings.max_message_bytes * 5 // 4  # of gRPC: above the limit, to say here what is wrong
        self.bytes = ByteBudget(settings.max_inflight_bytes, message=self.read_limit)
        self.calls = PeerCalls(each=settings.max_peer_calls, together=settings.max_calls)
        self._wait_s = settings.default_deadline_s if wait_s is None else wait_s
        self._most, self._most_single = settings.max_message_bytes, min(most_single, settings.max_message_bytes)

    def begin(self, peer: str, context: Any) -> None:
        """Count a call until its answer is sent."""
        self.calls.begin(peer)
        context.add_done_callback(lambda _: self.calls.end(peer))

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


# -- turns on the workers ----------------------------------------------------------------------------------------------

_FIRST_UNIT_S, _SMOOTHING = 0.05, 0.05
_SWITCH_S = 0.001
_LEAST_HINT_S, _MOST_HINT_S = 0.05, 2.0
_MOST_CHEAP = 4  # units: beyond a fifth of a second, others would wait long for a worker


class Flow(NamedTuple):
    """Those between whom turns are fair: a caller, or without a name its address, of a tenant."""

    tenant: str = ""
    caller: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class Turn:
    """One piece of work on a worker."""

    flow: Flow
    cost: int  # in units of 50 ms, from 1
    begun: bool  # whether earlier pieces of its call ran already; such a turn neither fills the queue nor gives way
    deadline: float  # time of ``time.monotonic()``, in seconds, after which no further stage starts
    ready: asyncio.Future[None]
    queued_ms: float = 0.0  # milliseconds that it waited for its worker
    abandoned: threading.Event = field(default_factory=threading.Event)  # set when no caller waits for the result


def _cost(turns: Iterable[Turn]) -> int:
    """What turns add to the queue."""
    return sum(turn.cost for turn in turns if not turn.begun)


class Limiter:
    """Runs blocking work on ``workers`` threads, for one event loop; work of ``queue`` units may wait, round robin between its flows.

    A worker is free only when its thread is: a thread cannot be stopped from outside, so abandoned work keeps it until its next
    stage. Work of more than 4 units gets all workers but one, where there are two or more: short work that comes meanwhile needs it.
    """

    def __init__(self, *, workers: int, queue: int) -> None:
        self.workers, self.queue = workers, queue
        self._waiting: dict[Flow, deque[Turn]] = {}  # the flow that comes next stands first
        self._busy, self._dear = 0, 0  # workers; those of them with dear work
        self._unit_s = _FIRST_UNIT_S
        self._running: set[Turn] = set()
        sys.setswitchinterval(_SWITCH_S)  # of the process: busy workers let the event loop run sooner, which refuses
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="egotools-worker")

    @property
    def queued(self) -> int:
        """Cost of the work that waits now, in units."""
        return sum(map(_cost, self._waiting.values()))

    @property
    def admitted(self) -> int:
        """Number of pieces of work that run or wait now."""
        return self._busy + sum(map(len, self._waiting.values()))

    def check(self, flow: Flow) -> None:
        """Refuse at once what :meth:`run` would refuse, before anything is spent on it."""
        if self._busy >= self.workers and self.queued >= self.queue and self._largest() == flow:
            raise self._overloaded()

    async def run(
        self, work: Callable[[Turn], _T], *, deadline: float, flow: Flow, cost: int = 1, begun: bool = False
    ) -> _T:
        """Run ``work`` on a worker and return its result; the parameters are those of :class:`Turn`."""
        loop, arrived = asyncio.get_running_loop(), time.monotonic()
        turn = Turn(flow=flow, cost=cost, begun=begun, deadline=deadline, ready=loop.create_future())
        await self._granted(turn, deadline - arrived)
        started = time.monotonic()
        turn.queued_ms = (started - arrived) * 1e3
        try:
            future = loop.run_in_executor(self._pool, work, turn)
        except RuntimeError:  # the pool takes no more work
            self._free(turn)
            raise NotReadyError("the server is stopping", remedy="Use another replica") from None
        self._running.add(turn)
        future.add_done_callback(partial(self._ended, turn, started))
        try:
            done, _ = await asyncio.wait({future}, timeout=max(0.0, deadline - started))
            if not done:
                raise DeadlineError("the deadline passed while the request ran; later stages are not run")
        except (asyncio.CancelledError, DeadlineError):
            turn.abandoned.set()
            raise
        return future.result()

    def close(self) -> None:
        """Mark the running work as abandoned and accept no more. Does not wait."""
        for turn in self._running:
            turn.abandoned.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _granted(self, turn: Turn, wait_s: float) -> None:
        """Wait for a worker. A later piece of a call comes before what its flow has not begun; of a full queue the newest turn of the
        flow with most gives way.
        """
        turns = self._waiting.setdefault(turn.flow, deque())
        (turns.appendleft if turn.begun else turns.append)(turn)
        self._start()
        while not turn.begun and not turn.ready.done() and self.queued - turn.cost >= self.queue:
            refused = next(each for each in reversed(self._waiting[self._largest()]) if not each.begun)
            self._remove(refused)
            if not refused.ready.done():
                refused.ready.set_exception(self._overloaded())
        try:
            async with asyncio.timeout(wait_s):
                await turn.ready
        except BaseException as error:
            self._remove(turn)
            if turn.ready.done() and not turn.ready.cancelled() and turn.ready.exception() is None:
                self._free(turn)  # a worker became free for it in the same moment
            if isinstance(error, TimeoutError):
                problem = "the deadline passed while the request waited for a worker"
                raise DeadlineError(problem, subject="queue") from None
            raise

    def _largest(self) -> Flow:
        """The flow with most in the queue."""
        return max(self._waiting, key=lambda flow: _cost(self._waiting[flow]), default=Flow())

    def _remove(self, turn: Turn) -> None:
        turns = self._waiting.get(turn.flow, deque())
        if turn in turns:
            turns.remove(turn)
        if not turns:
            self._waiting.pop(turn.flow, None)

    def _overloaded(self) -> OverloadedError:
        wait_s = self.queued * self._unit_s / self.workers
        return OverloadedError(
            f"{self.workers} requests run, and requests that cost {self.queued:,} units wait already",
            remedy="Try again later, or use another replica",
            retry_after_s=min(max(wait_s, _LEAST_HINT_S), _MOST_HINT_S),
        )

    def _start(self) -> None:
        while self._busy < self.workers:
            most = _MOST_CHEAP if 0 < self.workers - 1 <= self._dear else sys.maxsize
            turn = next((each for turns in self._waiting.values() for each in turns if each.cost <= most), None)
            if turn is None:
                return
            self._waiting[turn.flow] = self._waiting.pop(turn.flow)  # to the end
            self._remove(turn)
            if not turn.ready.done():
                self._busy += 1
                self._dear += turn.cost > _MOST_CHEAP
                turn.ready.set_result(None)

    def _free(self, turn: Turn) -> None:
        self._busy -= 1
        self._dear -= turn.cost > _MOST_CHEAP
        self._start()

    def _ended(self, turn: Turn, started: float, future: asyncio.Future[Any]) -> None:
        self._running.discard(turn)
        self._unit_s += _SMOOTHING * ((time.monotonic() - started) / turn.cost - self._unit_s)
        self._free(turn)
        if not future.cancelled():
            future.exception()  # retrieved, so that asyncio does not log the error of abandoned work
