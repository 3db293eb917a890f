"""Loads: what calls amount to by hand, schedules that repeat, and no omission of the calls that a stall delays."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import statistics
import time
from collections.abc import Mapping

import pytest

from egotools import AsyncClient, OverloadedError
from ontology.errors import EgotoolsError
from scripts.speed.load import Arrival, Call, closed_loop, measured_point, open_loop, poisson_schedule
from scripts.speed.load_client import LoadPlan, measure
from tests.conftest import LINUX
from tests.harness.waiting import LIMIT_S, until
from tests.services.server.memory_engine import MemoryEngine, serving, small_settings


def test_a_point_by_hand() -> None:
    calls = [
        Call(due_s=0.5, sent_s=0.5, done_s=1.2, stages_ms={"total": 9.0}),  # due in the warm-up, came after it
        Call(due_s=1.0, sent_s=1.0, done_s=1.010, stages_ms={"total": 6.0, "queue": 1.0}),
        Call(due_s=1.5, sent_s=1.504, done_s=1.530, stages_ms={"total": 8.0, "queue": 2.0}),
        Call(due_s=2.0, sent_s=2.0, done_s=2.020, stages_ms={"total": 7.0, "queue": 3.0}),
        Call(due_s=2.5, sent_s=2.5, done_s=2.501, code="RESOURCE_EXHAUSTED"),
        Call(due_s=2.9, sent_s=2.9, done_s=3.300, stages_ms={"total": 5.0, "queue": 4.0}),  # came when all was over
        Call(due_s=3.0, sent_s=3.0, done_s=3.001, stages_ms={"total": 1.0}),  # due when all was over
    ]
    point = measured_point(calls, warm_s=1.0, seconds=2.0, loop="open", load=0.5)
    assert point.offered_per_s == 2.5
    assert point.answered_per_s == 2.0  # the first of the calls came in time, though it counts for no latency
    # 10, 20, 30 and 400 ms, from the moment each was due
    assert point.p50_ms == pytest.approx(25.0)
    assert point.p95_ms == pytest.approx(30 + 0.85 * 370)
    assert point.p99_ms == pytest.approx(30 + 0.97 * 370)
    assert point.late_p95_ms == pytest.approx(0.8 * 4.0)  # of five calls: 0, 0, 0, 0, 4
    assert point.refused == {"RESOURCE_EXHAUSTED": 1}
    assert point.stages_ms == pytest.approx({"total": 6.5, "queue": 2.5, "rest": (10 + 16) / 2})


def test_a_load_without_answers_has_no_latency() -> None:
    calls = [Call(due_s=0.1, sent_s=0.1, done_s=0.2, code="UNAVAILABLE")]
    point = measured_point(calls, warm_s=0.0, seconds=1.0, loop="closed", callers=1)
    assert (point.answered_per_s, point.p50_ms, point.p99_ms, point.stages_ms) == (0.0, None, None, {})
    assert point.late_p95_ms == 0.0


def test_a_schedule_repeats_with_its_seed_and_has_the_rate_that_was_asked() -> None:
    schedule = poisson_schedule(200.0, 50.0, ["a", "b", "c"], seed="0:0.5")
    assert schedule == poisson_schedule(200.0, 50.0, ["a", "b", "c"], seed="0:0.5")
    assert schedule != poisson_schedule(200.0, 50.0, ["a", "b", "c"], seed="1:0.5")
    assert [arrival.query for arrival in schedule[:4]] == ["a", "b", "c", "a"]
    times = [0.0, *(arrival.due_s for arrival in schedule)]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert min(gaps) > 0 and times[-1] < 50.0
    # 10,000 expected: five standard errors of the count, of the mean and of the spread, which equal each other
    assert len(schedule) == pytest.approx(10_000, abs=5 * math.sqrt(10_000))
    assert statistics.stdev(gaps) == pytest.approx(statistics.mean(gaps), rel=0.05)


async def test_a_stall_of_the_client_counts_for_every_call_that_was_due_in_it() -> None:
    """Ten calls due 10 ms apart; the first holds the whole client for 200 ms, so all others are sent late."""
    stalled: list[str] = []

    async def ask(query: str) -> Mapping[str, float]:
        if not stalled:
            stalled.append(query)
            time.sleep(0.2)  # the loop itself is held, as by a long collection of garbage
        return {}

    calls = await open_loop(ask, [Arrival(due_s=0.01 * place, query="q") for place in range(10)])
    for place, call in enumerate(calls):
        assert call.due_s == 0.01 * place
        assert call.done_s - call.due_s >= 0.19 - 0.01 * place
    assert (measured_point(calls, warm_s=0, seconds=1, loop="open").p50_ms or 0) >= 150
    # A client that counts from the sending would leave the stall out: none of the others was sent before it ended.
    assert min(call.sent_s for call in calls[1:]) >= 0.19


async def test_a_stall_of_the_server_is_felt_by_every_request_that_arrives_in_it() -> None:
    """The server stops until ten requests are sent: a closed loop meets that once, an open one as often as they arrive."""
    sent = 0

    async def ask(query: str) -> Mapping[str, float]:
        nonlocal sent
        sent += 1
        if loop == "closed":
            await asyncio.sleep(0.5 if sent == 2 else 0.001)
        else:
            await until(lambda: sent == 10)
        return {}

    loop = "closed"
    calls = await closed_loop(ask, ["customer"], callers=1, seconds=1.5)
    assert [call.done_s - call.due_s >= 0.49 for call in calls[:3]] == [False, True, False]
    loop, sent = "open", 0
    opened = await open_loop(ask, [Arrival(due_s=0.02 * place, query="customer") for place in range(10)])
    assert [call.done_s >= 0.18 for call in opened] == [True] * 10
    waits = [call.done_s - call.due_s for call in opened]
    assert all(waits[place] >= 0.17 - 0.02 * place for place in range(10))


@LINUX
async def test_the_points_of_a_plan_on_a_server_that_refuses() -> None:
    """A worker that takes 20 ms: 50 answers a second and no more, whatever is asked of it."""
    engine = MemoryEngine(delays_s={"rank": 0.02})
    async with serving(engine, small_settings(workers=1, queue=4)) as server, AsyncClient(server.address) as client:

        async def ask(query: str) -> Mapping[str, float]:
            return (await client.retrieve(query, timeout_s=LIMIT_S)).timings_ms

        plan = LoadPlan(callers=(1, 2), loads=(0.2, 20.0), seconds=1.0, warm_s=0.2)
        alone, two, low, high = await measure(ask, ["customer"], plan, server_pid=os.getpid())
    assert [(point.loop, point.callers, point.load) for point in (alone, two, low, high)] == [
        ("closed", 1, 0.0),
        ("closed", 2, 0.0),
        ("open", 0, 0.2),
        ("open", 0, 20.0),
    ]
    assert (alone.p50_ms or 0) >= 20
    assert (two.p50_ms or 0) >= 38  # the second waits for the first
    assert 0 < two.answered_per_s <= 51
    assert not (alone.refused or two.refused)  # two callers always find a place
    # UNAVAILABLE: of streams that gRPC refuses while a busy server has not ended those that ran out of time
    assert {"RESOURCE_EXHAUSTED"} <= set(high.refused) <= {"RESOURCE_EXHAUSTED", "UNAVAILABLE"}
    assert high.refused["RESOURCE_EXHAUSTED"] > high.answered_per_s
    assert (high.server_cpu_ms or 0) > 0 and 0 <= high.others <= 1


@LINUX
async def test_a_server_that_answers_nothing_ends_the_measuring() -> None:
    async def ask(query: str) -> Mapping[str, float]:
        await asyncio.sleep(0.001)
        raise OverloadedError("no", code="RESOURCE_EXHAUSTED")

    plan = LoadPlan(callers=(1,), loads=(0.5,), seconds=0.05, warm_s=0.0)
    with pytest.raises(EgotoolsError, match="RESOURCE_EXHAUSTED: the server answered nothing"):
        await measure(ask, ["customer"], plan, server_pid=os.getpid())
