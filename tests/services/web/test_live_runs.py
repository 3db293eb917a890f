"""Runs: who follows sees each event once, whenever they come; a cancelled run leaves nothing behind; bounds hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from egotools.client_errors import UnavailableError
from ontology.errors import NotFoundError, OverloadedError
from services.web import live_runs
from services.web.live_runs import LiveRun, LiveRuns
from services.web.observed_plan import observed
from services.web.run_events import Plan, PlanRequest, RunEvent
from tests.harness.waiting import until
from tests.services.web.demo_plan import CANDIDATES, EVENTS, TOOL, DemoPlan


def started(plan: Plan, request: str = "folders") -> LiveRun:
    run = LiveRuns(plan).begin("me")
    run.start(plan, PlanRequest(request=request, ask=run.ask))
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


async def test_the_entities_of_a_node_come_in_pages() -> None:
    run = started(DemoPlan())
    events = [event async for _, event in run.follow(0)]
    assert "candidates" not in events[-1]
    assert events[-1]["sizes"] == {var: len(found) for var, found in CANDIDATES.items()}
    assert run.entities("f", 230, 100) == {"total": 235, "entities": CANDIDATES["f"][230:]}
    assert run.entities("", 0, 2) == {"total": 6, "entities": CANDIDATES["dir"][:2]}
    assert run.entities("nobody", 0, 2) == {"total": 0, "entities": []}


async def test_a_run_that_nobody_follows_any_more_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_runs, "_ALONE_S", 0.2)
    plan = DemoPlan()
    run = started(plan, "wait")
    plan.steps.release()
    first, second = run.follow(0), run.follow(0)
    await anext(first)
    await anext(second)
    await first.aclose()
    await asyncio.sleep(0.3)
    assert not run.ended  # one of two still follows
    await second.aclose()
    await until(lambda: run.ended)
    assert run.events[-1] == {"event": "Cancelled"}
    never = started(DemoPlan(), "wait")
    await until(lambda: never.ended)


async def test_a_page_that_comes_back_in_time_finds_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_runs, "_ALONE_S", 0.3)
    plan = DemoPlan()
    run = started(plan, "wait")
    for _ in EVENTS:
        following = run.follow(0)
        plan.steps.release()
        await anext(following)
        await following.aclose()
        await asyncio.sleep(0.15)
    assert [event["event"] for event in run.events][-1] == "Answered"


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_cancelled_run_says_so(at_once: bool) -> None:
    plan = DemoPlan()
    run = started(plan, "wait")
    if not at_once:
        plan.steps.release()
        await until(lambda: run.events)
    await run.cancel()
    assert (await seen(run))[-1][1] == "Cancelled"
    assert plan.cancelled == (0 if at_once else 1)


async def test_a_question_waits_for_its_answer() -> None:
    run = started(DemoPlan(), "delete")
    await until(lambda: run.events and run.events[-1]["event"] == "ConsentAsked")
    question = run.events[-1]["question"]
    assert run.events[-1]["tool"]["id"] == TOOL.id
    with pytest.raises(NotFoundError):
        run.consent("another", True)
    run.consent(question, True)
    assert [name for _, name in await seen(run)][-2:] == ["ConsentGiven", "Answered"]
    with pytest.raises(NotFoundError):
        run.consent(question, True)


async def test_bounds_of_runs() -> None:
    plan = DemoPlan()
    runs = LiveRuns(plan)
    for _ in range(8):
        run = runs.begin("me")
        run.start(plan, PlanRequest(request="wait", ask=run.ask))
    with pytest.raises(OverloadedError):
        runs.begin("me")
    with pytest.raises(NotFoundError):
        runs.find(run.id, "another")
    await runs.stop()
    for _ in range(20):
        assert runs.find(run.id, "me") is run or runs.begin("me")
        last = runs.begin("me")
        last.start(plan, PlanRequest(request="folders", ask=last.ask))
        await seen(last)
        run = last


async def test_a_planner_without_end_is_stopped() -> None:
    closed = []

    async def endless(asked: PlanRequest) -> AsyncGenerator[RunEvent, None]:
        try:
            while True:
                yield {"event": "Called", "call": {}}
        finally:
            closed.append(True)

    run = started(endless)
    await until(lambda: run.ended)
    assert run.events[-1]["error"]["code"] == "RESOURCE_EXHAUSTED"
    assert closed == [True]


async def test_a_planner_with_an_observer_is_a_plan() -> None:
    async def work(asked: PlanRequest, observe: Callable[[RunEvent], None]) -> None:
        for event in EVENTS:
            observe(event)
            await asyncio.sleep(0)
        if asked.request == "fail":
            raise UnavailableError("no server answers", code="UNAVAILABLE")
        if asked.request == "wait":
            await asyncio.Event().wait()
        observe({"event": "Answered", "execution": {"answer": [], "candidates": {}}})

    for request, last in (("", "Answered"), ("fail", "Failed"), ("wait", "Cancelled")):
        before = asyncio.all_tasks()
        run = started(observed(work), request)
        if request == "wait":
            await until(lambda run=run: len(run.events) == len(EVENTS))  # type: ignore[misc]
            await run.cancel()
        names: list[Any] = [name for _, name in await seen(run)]
        assert names == [*(event["event"] for event in EVENTS), last]
        assert asyncio.all_tasks() == before
