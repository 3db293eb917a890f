"""A plan that is gone through anew in each turn: what has run is known, hints are followed once."""

from __future__ import annotations

import pytest

from planners.graphseek.results.result import Result
from planners.graphseek.rules.replayed_calls import FailedError, NeededError, ReplayedCalls
from planners.graphseek.turn import Fault, Invocation, Outcome, StepRecord

TABLE = Result(handle="t1", kind="table", size=2, summary="")
DIRECTION = Fault(kind="empty", problem="nothing", hint="The other direction gives 4: use direction in")
ROUNDED = Fault(kind="empty", problem="no such number", hint="It may be rounded: compare with >= and <=")


def _record(operator: str, outcome: Outcome, **arguments: object) -> StepRecord:
    return StepRecord(number=1, invocations=(Invocation(operator=operator, arguments=arguments),), outcomes=(outcome,))


def test_what_has_not_run_is_needed_and_what_has_run_is_known() -> None:
    with pytest.raises(NeededError) as needed:
        ReplayedCalls(()).result("find", text="a")
    assert needed.value.invocations == (Invocation(operator="find", arguments={"text": "a"}),)
    assert ReplayedCalls([_record("find", TABLE, text="a")]).result("find", text="a") == TABLE


def test_the_other_direction_is_tried_once_and_noted() -> None:
    calls = ReplayedCalls([_record("traverse", DIRECTION, direction="out")])
    with pytest.raises(NeededError) as needed:
        calls.result("traverse", direction="out")
    assert needed.value.invocations[0].arguments == {"direction": "in"}
    both = [_record("traverse", DIRECTION, direction="out"), _record("traverse", DIRECTION, direction="in")]
    with pytest.raises(FailedError):
        ReplayedCalls(both).result("traverse", direction="out")
    calls = ReplayedCalls([both[0], _record("traverse", TABLE, direction="in")])
    assert calls.result("traverse", direction="out") == TABLE
    assert "use direction in" in calls.notes[0]


def test_a_rounded_number_gets_a_tolerance_of_half_its_last_digit() -> None:
    filters = [{"key": "price", "operator": "=", "value": 9.25}, {"key": "genre", "operator": "=", "value": "novel"}]
    calls = ReplayedCalls([_record("get_nodes", ROUNDED, filters=filters)])
    with pytest.raises(NeededError) as needed:
        calls.result("get_nodes", filters=filters)
    found = needed.value.invocations[0].arguments["filters"]
    assert [each["operator"] for each in found] == [">=", "<=", "="]
    assert [each["value"] for each in found[:2]] == pytest.approx([9.245, 9.255])


def test_a_cut_result_is_told() -> None:
    cut = Result(handle="t1", kind="table", size=10_000, summary="", cut=True)
    calls = ReplayedCalls([_record("traverse", cut, start={}), _record("get_nodes", cut, limit=10_000)])
    calls.result("get_nodes", limit=10_000)
    assert not calls.notes
    calls.result("traverse", start={})
    assert "10,000" in calls.notes[0]
