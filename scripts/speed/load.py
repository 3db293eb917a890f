"""Load on a server: a closed loop and an open loop, and what their calls amount to.

In a closed loop each caller waits for its answer before it asks again, so a slow server is asked less often: that gives
the peak, but flatters the latency. In an open loop requests arrive when they are due, whether or not earlier ones were
answered, and latency counts from the moment a request was *due*: a stall of the server, or of this client, is felt by
every request that arrives during it, as its callers would feel it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from egotools import ClientError
from scripts.speed.speed_results import Point

__all__ = ["Arrival", "Ask", "Call", "closed_loop", "measured_point", "open_loop", "poisson_schedule"]

Ask = Callable[[str], Awaitable[Mapping[str, float]]]
"""A request → stage → milliseconds, as the answer reports them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A request of the open loop.

    :param due_s: seconds after the start of the loop at which it arrives.
    """

    due_s: float
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that has ended; seconds are since the start of its loop.

    :param due_s: when it was due; in a closed loop that is when it was sent.
    :param code: why it was refused, or empty.
    :param stages_ms: as the answer reports them; empty when it was refused.
    """

    due_s: float
    sent_s: float
    done_s: float
    code: str = ""
    stages_ms: Mapping[str, float] = field(default_factory=dict)


def poisson_schedule(rate_per_s: float, seconds: float, queries: Sequence[str], *, seed: str) -> list[Arrival]:
    """Arrivals of independent callers: exponential gaps, every request in turn; the same seed gives the same schedule."""
    chance = random.Random(seed)
    arrivals: list[Arrival] = []
    due_s = chance.expovariate(rate_per_s)
    while due_s < seconds:
        arrivals.append(Arrival(due_s=due_s, query=queries[len(arrivals) % len(queries)]))
        due_s += chance.expovariate(rate_per_s)
    return arrivals


async def closed_loop(ask: Ask, queries: Sequence[str], *, callers: int, seconds: float) -> list[Call]:
    """``callers`` that each ask, wait for the answer and ask again, for ``seconds``."""
    started = time.perf_counter()

    async def caller(place: int) -> list[Call]:
        calls: list[Call] = []
        first = place * len(queries) // callers  # not all the same request at the same time
        while (now := time.perf_counter() - started) < seconds:
            calls.append(await _call(ask, queries[(first + len(calls)) % len(queries)], started, due_s=now))
        return calls

    return [call for calls in await asyncio.gather(*map(caller, range(callers))) for call in calls]


async def open_loop(ask: Ask, schedule: Sequence[Arrival]) -> list[Call]:
    """Send every request when it is due, however many still wait for their answers; ends with the last answer."""
    started = time.perf_counter()
    calls: list[asyncio.Task[Call]] = []
    for arrival in schedule:
        await asyncio.sleep(max(0.0, arrival.due_s - (time.perf_counter() - started)))
        calls.append(asyncio.create_task(_call(ask, arrival.query, started, due_s=arrival.due_s)))
    return list(await asyncio.gather(*calls))


async def _call(ask: Ask, query: str, started: float, *, due_s: float) -> Call:
    sent_s = time.perf_counter() - started
    code, stages_ms = "", {}
    try:
        stages_ms = dict(await ask(query))
    except ClientError as error:
        code = error.code
    return Call(due_s=due_s, sent_s=sent_s, done_s=time.perf_counter() - started, code=code, stages_ms=stages_ms)


def measured_point(
    calls: Sequence[Call], *, warm_s: float, seconds: float, loop: str, callers: int = 0, load: float = 0.0
) -> Point:
    """What calls amount to; those that were due in the first ``warm_s`` are left out.

    :param seconds: measured time after the warm-up.
    """
    due = [call for call in calls if warm_s <= call.due_s < warm_s + seconds]
    answered = [call for call in due if not call.code]
    came = sum(not call.code and warm_s <= call.done_s < warm_s + seconds for call in calls)
    latencies = [call.done_s - call.due_s for call in answered]
    return Point(
        loop=loop,
        callers=callers,
        load=load,
        offered_per_s=len(due) / seconds,
        answered_per_s=came / seconds,
        p50_ms=_percentile_ms(latencies, 50),
        p95_ms=_percentile_ms(latencies, 95),
        p99_ms=_percentile_ms(latencies, 99),
        late_p95_ms=_percentile_ms([call.sent_s - call.due_s for call in due], 95),
        refused=dict(sorted(Counter(call.code for call in due if call.code).items())),
        stages_ms=_stages(answered),
    )


def _stages(answered: Sequence[Call]) -> dict[str, float]:
    spent: dict[str, list[float]] = {}
    for call in answered:
        explained = call.stages_ms.get("total", 0.0) + call.stages_ms.get("queue", 0.0)
        rest = (call.done_s - call.sent_s) * 1e3 - explained
        for stage, ms in {**call.stages_ms, "rest": rest}.items():
            spent.setdefault(stage, []).append(ms)
    return {stage: float(np.median(values)) for stage, values in spent.items()}


def _percentile_ms(seconds: Sequence[float], percent: float) -> float | None:
    return float(np.percentile(seconds, percent)) * 1e3 if seconds else None
