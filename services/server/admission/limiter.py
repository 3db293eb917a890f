"""The limiter: the cost of a request is known before its work; at most N pieces run, others wait in a fair queue, and more is refused at once."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ontology.errors import DeadlineError, InvalidArgumentError, NotReadyError, OverloadedError
from retrieval.query.request import PlanRequest, Request

__all__ = ["Flow", "Limiter", "Slot", "check_call_cost", "least_answer_bytes", "plan_cost", "request_cost"]

_MS_OF_UNIT = 50.0
_MS = 10.0
_MS_OF_CHARACTER, _MOST_FULL_CHARACTERS = 0.02, 1_000  # beyond them the encoder reads no further
_MS_OF_LATER_CHARACTER = 0.0025
_MS_OF_TOOL, _MS_OF_REASONS, _MS_OF_SCHEMA = 0.5, 3.0, 0.5
_MOST_TOOLS = 500  # a request for 1,000 had at most 458 candidates
_LEAST_TOOL_BYTES, _LEAST_REASONS_BYTES, _LEAST_SCHEMA_BYTES = 140, 400, 400
_MS_OF_FILTER_VALUE, _MS_OF_PATTERN_KEY = 0.025, 25.0  # all patterns of a key look once at all its values
_RANK_BM25, _MS_OF_RANK_BM25_CHARACTER = ("bm25-", "hybrid"), 0.25
_PLAN_UNITS = 1
_SURE_TOOLS = 100  # of so many that are asked for, no catalogue returned fewer


def request_cost(request: Request) -> int:
    """Return the cost of a request in units, from 1 to about 170; without filters and needs, by a preset that is served by default, to about 43."""
    characters = len(request.text) + sum(
        map(len, request.needs)
    )  # each need is encoded by itself and in the whole text
    tool_ms = _MS_OF_TOOL + _MS_OF_REASONS * request.explain + _MS_OF_SCHEMA * (request.schema_format != "none")
    spent_ms = (
        _MS * (1 + len(request.needs))
        + _MS_OF_CHARACTER * min(characters, _MOST_FULL_CHARACTERS)
        + _MS_OF_LATER_CHARACTER * characters
        + tool_ms * min(request.k, _MOST_TOOLS)
        + sum(map(_filter_ms, request.filters.values()))
        + _MS_OF_RANK_BM25_CHARACTER * characters * request.preset.startswith(_RANK_BM25)
    )
    return max(1, round(spent_ms / _MS_OF_UNIT))


def _filter_ms(values: Sequence[str]) -> float:
    return _MS_OF_FILTER_VALUE * len(values) + _MS_OF_PATTERN_KEY * any(value.endswith("*") for value in values)


def plan_cost(request: PlanRequest) -> int:
    """Return the cost of a plan in units: that of the search, which is bounded, and of the retrieval where there is a query or a need."""
    return _PLAN_UNITS + (request_cost(request.retrieval()) if request.is_matched else 0)


def check_call_cost(costs: Sequence[int], most: int) -> None:
    """Check what a call with several requests costs.

    :param costs: of its requests, in units.
    :param most: units that one call may cost.
    :raises InvalidArgumentError: when they cost more together; it says what to ask for instead.
    """
    total = sum(costs)
    if total > most:
        raise InvalidArgumentError(
            f"the call would cost {total:,} units, its dearest request {max(costs)}; at most {most:,} are allowed",
            subject="requests",
            remedy=(f"Split it into {-(-total // most)} calls or more, or ask" if len(costs) > 1 else "Ask")
            + " for fewer tools, without reasons, in fewer words, with fewer keys of filters",
        )


def least_answer_bytes(request: Request, tool_count: int) -> int:
    """Return the bytes that an answer has at least; 0 where the number of its tools cannot be known.

    :param tool_count: tools of the catalogue.
    """
    if request.filters or request.auto_k or request.abstain or request.done:
        return 0
    tool = (
        _LEAST_TOOL_BYTES
        + _LEAST_REASONS_BYTES * request.explain
        + _LEAST_SCHEMA_BYTES * (request.schema_format != "none")
    )
    return tool * min(request.k, tool_count, _SURE_TOOLS)


_MOST_REMEMBERED = 4_096


class Flow(NamedTuple):
    """Those between whom turns are fair: a caller, or without a name its address, of a tenant."""

    tenant: str = ""
    caller: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class Turn:
    """One piece of work that waits for a worker.

    :param flow: whose it is.
    :param cost: in units (see :mod:`services.server.admission.limiter`), from 1.
    :param begun: whether earlier pieces of its call ran already; such a turn neither fills the queue nor gives way.
    :param ready: set when a worker is free for it.
    """

    flow: Flow
    cost: int
    begun: bool
    ready: asyncio.Future[None] = field(repr=False)


_Key: TypeAlias = "str | Flow"
_K = TypeVar("_K", str, Flow)


class FairQueue:
    """The turns that wait, in the order in which they come. Use it in one event loop.

    :param limit: cost in units that may wait; the turn that reaches it is the last one.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: dict[str, dict[Flow, deque[Turn]]] = {}
        self._cost: Counter[_Key | None] = Counter()
        self._charged: dict[_Key, int] = {}
        self._now: dict[str | None, int] = defaultdict(int)

    @property
    def cost(self) -> int:
        """Cost of the turns that fill the queue."""
        return self._cost[None]

    def push(self, turn: Turn) -> None:
        """Let a turn wait, whatever waits already; a later piece of a call before what its flow has not begun."""
        tenant, flow = turn.flow.tenant, turn.flow
        flows = self._waiting.setdefault(tenant, {})
        if not flows:
            self._charged[tenant] = max(self._charged.get(tenant, 0), self._now[None])
        if flow not in flows:
            self._charged[flow] = max(self._charged.get(flow, 0), self._now[tenant])
        turns = flows.setdefault(flow, deque())
        (turns.appendleft if turn.begun else turns.append)(turn)
        self._count(turn, turn.cost)

    def shed(self, newest: Turn) -> list[Turn]:
        """Take out and return what must give way to the turn that came last: later turns of a flow with more, or itself."""
        giving_way: list[Turn] = []
        while not newest.begun and self._waits(newest) and self.cost - newest.cost >= self._limit:
            giving_way.append(self._newest_of_most())
            self.remove(giving_way[-1])
        return giving_way

    def refuses(self, flow: Flow) -> bool:
        """Whether a turn of this flow that came now would give way at once: the queue is full, and mostly its own."""
        if self.cost < self._limit or flow not in self._waiting.get(flow.tenant, ()):
            return False
        return flow.tenant == self._most_of(self._waiting) and flow == self._most_of(self._waiting[flow.tenant])

    def pop(self, most: int | None = None) -> Turn | None:
        """Take the next turn; None if nothing waits.

        :param most: units that the turn may cost; dearer ones wait on, and others go before them.
        """
        fitting = {
            flow: turn
            for flows in self._waiting.values()
            for flow, turns in flows.items()
            if (turn := _first(turns, most)) is not None
        }
        if not fitting:
            return None
        flow = min(fitting, key=lambda flow: (self._charged[flow.tenant], self._charged[flow]))
        turn, tenant = fitting[flow], flow.tenant
        # Who was passed over for cost is behind: that is no credit.
        self._now[None] = self._charged[tenant] = max(self._charged[tenant], self._now[None])
        self._now[tenant] = self._charged[flow] = max(self._charged[flow], self._now[tenant])
        self._charged[tenant] += turn.cost
        self._charged[flow] += turn.cost
        self.remove(turn)
        for key, left, charged in ((tenant, self._waiting.get(tenant), flow), (None, self._waiting, tenant)):
            if not left:  # nobody waits behind the one that was charged
                self._now[key] = self._charged.get(charged, self._now[key])
        return turn

    def remove(self, turn: Turn) -> None:
        """Take out a turn that no longer waits; nothing happens when it is not in the queue."""
        if not self._waits(turn):
            return
        flows = self._waiting[turn.flow.tenant]
        turns = flows[turn.flow]
        turns.remove(turn)
        self._count(turn, -turn.cost)
        if not turns:
            del flows[turn.flow]
        if not flows:
            del self._waiting[turn.flow.tenant]
        if len(self._charged) > _MOST_REMEMBERED:
            self._forget()

    def _waits(self, turn: Turn) -> bool:
        return turn in self._waiting.get(turn.flow.tenant, {}).get(turn.flow, ())

    def _count(self, turn: Turn, cost: int) -> None:
        if not turn.begun:
            for key in (None, turn.flow.tenant, turn.flow):
                self._cost[key] += cost

    def _newest_of_most(self) -> Turn:
        """The turn that came last, of those that fill the queue, of the flow with most of the tenant with most."""
        flows = self._waiting[self._most_of(self._waiting)]
        turns = flows[self._most_of(flows)]
        return next(turn for turn in reversed(turns) if not turn.begun)

    def _most_of(self, keys: Iterable[_K]) -> _K:
        return max(keys, key=self._cost.__getitem__)

    def _forget(self) -> None:
        """Forget those that have nothing in the queue, and are not ahead of the others."""
        self._cost = +self._cost
        for key in list(self._charged):
            flow = key if isinstance(key, Flow) else None
            flows = self._waiting.get(flow.tenant if flow else str(key), {})
            now = self._now[flow.tenant if flow else None]
            if self._charged[key] <= now and (flow not in flows if flow else not flows):
                del self._charged[key]


def _first(turns: Iterable[Turn], most: int | None) -> Turn | None:
    return next((turn for turn in turns if most is None or turn.cost <= most), None)


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
    :param queue: cost in units that may wait; see :class:`services.server.admission.limiter.FairQueue`.
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
