"""Runs: their events are the answer; who goes away ends them and leaves nothing behind; bounds hold."""

from contextlib import aclosing

import pytest

from ontology.errors import OverloadedError
from services.web.live_runs import LiveRuns, PlanRequest
from tests.services.web.demo_plan import EVENTS, DemoPlan


@pytest.mark.parametrize(
    ("request_", "last", "problem"),
    [("folders", "Answered", ""), ("fail", "Failed", "no graph for"), ("broken", "Failed", "logged this as incident")],
)
async def test_the_last_event_is_the_answer_or_says_why_there_is_none(request_: str, last: str, problem: str) -> None:
    events = [event async for event in LiveRuns().events(DemoPlan(), PlanRequest(request=request_))]
    assert events[-1]["event"] == last
    assert problem in events[-1].get("error", {}).get("message", "")
    assert "secret" not in str(events)
    assert last == "Failed" or events[:-1] == list(EVENTS)


async def test_who_stops_reading_ends_the_run_and_makes_room() -> None:
    plan, runs = DemoPlan(), LiveRuns()
    reading = [runs.events(plan, PlanRequest(request="folders")) for _ in range(8)]
    for each in reading:
        await anext(each)
    with pytest.raises(OverloadedError):
        runs.check_room()
    for each in reading:
        async with aclosing(each):
            pass
    runs.check_room()
