"""The rules that go by the values a request records: missing inputs, kinds of values, names for identifiers, ends."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from datagen.interfaces import RequestValidator
from datagen.synthetic_request import SampleValue, SyntheticRequest
from datagen.tool_path import ToolPath

SINGLE = "single-intent"
BUDGET, TRANSFER = "finance/getBudget", "finance/transferBudget"


def recorded(label: str, tools: str, text: str, *values: tuple[str, str, str]) -> SyntheticRequest:
    """A request with the values that it states: (tool, parameter, value)."""
    found = tuple(SampleValue(tool=tool, parameter=parameter, value=value) for tool, parameter, value in values)
    path = ToolPath(tools=tuple(tools.split()))
    return SyntheticRequest(id="1", text=text, request_class=label, path=path, values=found)


YEAR, CENTRE = (BUDGET, "fiscalYear", "2025"), (BUDGET, "costCenterId", "4711")
FROM, TO = (TRANSFER, "fromCostCenterId", "4711"), (TRANSFER, "toCostCenterId", "4720")
AMOUNT, MOVED = (TRANSFER, "amount.amount", "5k"), (TRANSFER, "fiscalYear", "2025")
MOVE = "Move 5k from 4711 to 4720 in 2025"


@pytest.mark.parametrize(
    ("check", "request_", "said"),
    [
        (
            "sequence",
            recorded(
                SINGLE,
                "support/open_case",
                "Open a new case for customer 100482, severity 3",
                ("support/open_case", "customer_id", "100482"),
                ("support/open_case", "severity", "3"),
            ),
            "no value is said for",
        ),
        (
            "sequence",
            recorded(SINGLE, TRANSFER, MOVE, (*FROM[:2], "4720"), (*TO[:2], "4711"), AMOUNT, MOVED),
            "each the value of the other's input",
        ),
        (
            "sequence",
            recorded(
                "conditional-multi-step",
                "manufacturing/query_WorkCenters manufacturing/create_MaintenanceOrders",
                "If the scrap quantity of the work center in LP02 is over 500, make a calibration order at it",
                ("manufacturing/query_WorkCenters", "Plant", "LP02"),
                ("manufacturing/create_MaintenanceOrders", "Kind", "calibration"),
            ),
            "the condition is on the scrap quantity",
        ),
        (
            "error",
            recorded("multi-intent", f"itsm/list_offerings {BUDGET}", "What is left on 4711 in 2025?", CENTRE, YEAR),
            "nothing in the request asks for itsm/list_offerings",
        ),
        (
            "error",
            recorded(
                "multi-intent", f"finance/searchCostCenters {BUDGET}", "What is left on 4711 in 2025?", CENTRE, YEAR
            ),
            "looks up only what the request states",
        ),
        (
            "error",
            recorded(
                SINGLE,
                "sales/getCustomerPrice",
                "what does 100482 cost for 100482",
                ("sales/getCustomerPrice", "productId", "100482"),
                ("sales/getCustomerPrice", "customerId", "100482"),
            ),
            "is the value of both",
        ),
        ("error", recorded(SINGLE, BUDGET, "what's left on Sales for 2025", (*CENTRE[:2], "Sales"), YEAR), "is a name"),
        ("error", recorded(SINGLE, BUDGET, "left on 4711 for purple", CENTRE, (*YEAR[:2], "purple")), "is no number"),
        (
            "error",
            recorded(SINGLE, TRANSFER, MOVE.replace("5k", "12 March"), FROM, TO, (*AMOUNT[:2], "12 March"), MOVED),
            "is a date",
        ),
        (
            "error",
            recorded(
                SINGLE,
                "procurement/extendPurchaseContract",
                "extend 460001 until 5,000 pieces",
                ("procurement/extendPurchaseContract", "contractId", "460001"),
                ("procurement/extendPurchaseContract", "validTo", "5,000 pieces"),
            ),
            "counts something",
        ),
        (
            "error",
            recorded(
                SINGLE,
                "sales/updateOpportunity",
                "set OPP-33901 to purple",
                ("sales/updateOpportunity", "opportunityId", "OPP-33901"),
                ("sales/updateOpportunity", "stage", "purple"),
            ),
            "is none of the values",
        ),
    ],
)
def test_what_the_record_shows(
    validators: Mapping[str, RequestValidator], check: str, request_: SyntheticRequest, said: str
) -> None:
    verdict = validators[check].validate(request_)
    assert not verdict.passed
    assert said in verdict.reason


@pytest.mark.parametrize(
    "request_",
    [
        recorded(SINGLE, BUDGET, "how much is left on 4711 for 2025", CENTRE, YEAR),
        recorded(SINGLE, TRANSFER, MOVE, FROM, TO, AMOUNT, (TRANSFER, "amount.currency", "EUR"), MOVED),
        recorded(SINGLE, BUDGET, "how much is left on 4711 for this year", CENTRE, (*YEAR[:2], "this year")),
    ],
)
def test_a_complete_record_passes(validators: Mapping[str, RequestValidator], request_: SyntheticRequest) -> None:
    for check in ("sequence", "error"):
        verdict = validators[check].validate(request_)
        assert verdict.passed, verdict.reason


def test_a_request_without_a_record_is_not_held_to_one(validators: Mapping[str, RequestValidator]) -> None:
    text = "Open a new case for customer 100482, severity 3"
    assert validators["sequence"].validate(recorded(SINGLE, "support/open_case", text)).passed


def test_the_one_who_asks_is_found_where_a_tool_does_that(validators: Mapping[str, RequestValidator]) -> None:
    question = ("hr/searchHandbook", "question", "how many sick days are paid")
    text = "how many sick days are paid, and what have I got left in holidays?"
    lacking = recorded("ir-multi-intent", "hr/searchHandbook hr/getLeaveBalance", text, question)
    whole = recorded("ir-multi-intent", "hr/searchHandbook hr/getMyProfile hr/getLeaveBalance", text, question)
    assert "'employeeId'" in validators["error"].validate(lacking).reason
    assert validators["error"].validate(whole).passed
