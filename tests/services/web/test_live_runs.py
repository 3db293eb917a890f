"""Runs: who follows sees each event once, whenever they come; a cancelled run leaves nothing behind; bounds hold."""

from __future__ import annotations

import asyncio

import pytest

from ontology.errors import NotFoundError, OverloadedError
from services.web.live_runs import LiveRun, LiveRuns, Plan, PlanRequest
from tests.services.web.demo_plan import EVENTS, DemoPlan


def started(plan: Plan, request: str = "folders") -> LiveRun:
    run = LiveRuns().begin("me")
    run.start(plan, PlanRequest(request=request))
    return run


async def seen(run: LiveRun, after: int = 0) -> list[tuple[int, str]]:
    return [(number, event["event"]) async for number, event in run.follow(after)]


async def test_all_followers_see_all_events_from_where_they_are() -> None:
    plan = DemoPlan()
    run = started(plan, "wait")
    early = [asyncio.ensure_future(seen(run)) for _ in range(2)]
    for _ in EVENTS:
        plan.steps.release()
    names = [*(event["event"] for event in EVENTS), "Answered"]
    expected = list(enumerate(names, 1))
    assert await asyncio.gather(*early) == [expected, expected]
    assert await seen(run) == expected
    assert await seen(run, after=5) == expected[5:]
    assert await seen(run, after=999) == []


async def test_bounds_of_runs() -> None:
    plan = DemoPlan()
    runs = LiveRuns()
    for _ in range(8):
        run = runs.begin("me")
        run.start(plan, PlanRequest(request="wait"))
    with pytest.raises(OverloadedError):
        runs.begin("me")
    with pytest.raises(NotFoundError):
        runs.find(run.id, "another")
    await runs.stop()
    for _ in range(20):
        assert runs.find(run.id, "me") is run or runs.begin("me")
        last = runs.begin("me")
        last.start(plan, PlanRequest(request="folders"))
        await seen(last)
        run = last
