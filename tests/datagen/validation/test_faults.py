"""The error check, fault by fault, and beside each a request that is right and looks like it."""

from __future__ import annotations

import pytest

from tests.datagen.validation.conftest import Validated

SINGLE, MULTI, IMPLICIT = "single-intent", "multi-intent", "implicit-multi-step"
BUDGET = "finance/getBudget"


@pytest.mark.parametrize(
    ("label", "tools", "text", "said"),
    [
        (SINGLE, f"{BUDGET} {BUDGET}", "what's left on 4711", "more than once"),
        (SINGLE, BUDGET, "", "empty"),
        (SINGLE, BUDGET, "budget", "single word"),
        (SINGLE, BUDGET, "how much is left on {cost_center}", "place of a value"),
        (SINGLE, BUDGET, "how much is left on the", "in the middle of a phrase"),
        (SINGLE, BUDGET, "what has 4711 got left in its budg", "in the middle of a word"),
        (SINGLE, "travel/searchFlights", "a flight from Leeds to on 4 June", "announced and missing"),
        (SINGLE, BUDGET, "call getBudget for 4711", "name out of the documents"),
        (SINGLE, BUDGET, "what does the endpoint say about 4711", "developers"),
        (SINGLE, BUDGET, "planned, committed (open POs and requisitions), spent of 4711", "word for word"),
        (SINGLE, "travel/searchHotels", "a hotel in Kassel from 30 February to 2 March", "calendar"),
        (SINGLE, "facilities/bookRoom", "book room LS-2.14 tomorrow from 25:00", "time of day"),
        (SINGLE, "hr/requestLeave", "leave for E10442 from 20 June to 3 June, type LT1", "ends before it begins"),
        (SINGLE, "itsm/update_incident", "make INC0045122 a P9", "none of the values"),
        (SINGLE, "hr/decideLeaveRequest", "approve and reject LR-3390", "contrary"),
        (SINGLE, "procurement/extendPurchaseContract", "extend contract 460001 until 500 EUR", "a date is meant"),
        (
            IMPLICIT,
            "hr/searchEmployees hr/getLeaveBalance",
            "days off left for employee E10442",
            "only what the request states",
        ),
        (
            MULTI,
            f"{BUDGET} finance/getCostCenterActuals hr/getLeaveBalance",
            "What's left on 4711? And days off of E10777?",
            "nothing in the request asks for",
        ),
        (SINGLE, "finance/getOpenReceivables", "What does Hansen Marine owe us?", "by name only"),
    ],
)
def test_faults(validated: Validated, label: str, tools: str, text: str, said: str) -> None:
    verdict = validated("error", label, tools, text)
    assert not verdict.passed
    assert said in verdict.reason


@pytest.mark.parametrize(
    ("label", "tools", "text"),
    [
        (SINGLE, BUDGET, "what is cost centre 4711 living on"),
        (SINGLE, "itsm/update_incident", "make INC0045122 a P1"),
        (SINGLE, "travel/searchHotels", "a hotel in Kassel from 28 December to 2 January :)"),
        (SINGLE, "travel/attachReceipt", "put taxi_0611.jpg on item 2 of R1290"),
        (SINGLE, "hr/getLeaveBalance", "what's E10442's number of days off"),
        (IMPLICIT, "hr/searchEmployees hr/getLeaveBalance", "days off left for Jan Kowalczyk"),
        (MULTI, "finance/getBudget hr/getLeaveBalance", "What's left on 4711? And days off of E10777?"),
    ],
)
def test_no_faults(validated: Validated, label: str, tools: str, text: str) -> None:
    verdict = validated("error", label, tools, text)
    assert verdict.passed, verdict.reason
