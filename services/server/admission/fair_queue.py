"""The queue in front of the workers: turns go round between tenants, and between the callers of a tenant, by cost.

Start-time fair queueing on two levels: a tenant, and in it a flow, has the turn that was charged least. When the queue is
full, the newest of the flow that has most in it gives way to a flow that has less: a full queue of one refuses no other.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

__all__ = ["FairQueue", "Flow", "Turn"]

_MOST_REMEMBERED = 4_096


class Flow(NamedTuple):
    """Those between whom turns are fair: a caller, or without a name its address, of a tenant."""

    tenant: str = ""
    caller: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class Turn:
    """One piece of work that waits for a worker.

    :param flow: whose it is.
    :param cost: in units (see :mod:`services.server.admission.cost`), from 1.
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
