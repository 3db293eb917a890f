"""The sequence check: order, inputs and what tools have to do with each other."""

from __future__ import annotations

import pytest

from tests.datagen.validation.conftest import Validated

IMPLICIT, EXPLICIT, CONDITIONAL = "implicit-multi-step", "explicit-multi-step", "conditional-multi-step"


@pytest.mark.parametrize(
    ("label", "tools", "text"),
    [
        (IMPLICIT, "sales/searchCustomers finance/getOpenReceivables", "What does Hansen Marine owe us?"),
        (IMPLICIT, "hr/getMyProfile hr/getManager hr/getLeaveBalance", "How much holiday has my boss got left?"),
        (IMPLICIT, "projects/find_projects projects/staff_project", "put E10442 on the Baltic retrofit"),
        (
            EXPLICIT,
            "legal/create_nda legal/send_for_signature",
            "Draft an NDA for Orlan, then send it to a@orlan.example",
        ),
        ("single-intent", "facilities/reserveDesk", "a desk in LS-B2 for tomorrow please"),
    ],
)
def test_each_tool_gets_what_it_needs(validated: Validated, label: str, tools: str, text: str) -> None:
    verdict = validated("sequence", label, tools, text)
    assert verdict.passed, verdict.reason


@pytest.mark.parametrize(
    ("label", "tools", "text", "said"),
    [
        (
            IMPLICIT,
            "finance/getOpenReceivables sales/searchCustomers",
            "What does Hansen Marine owe us?",
            "comes after",
        ),
        (
            CONDITIONAL,
            "finance/transferBudget finance/getBudget",
            "If 4720 is below 5k move 10k from 4711",
            "acts before",
        ),
        (EXPLICIT, "travel/searchFlights warehouse/listBinStock", "Find flights to Kassel, then book one", "shares no"),
        ("single-intent", "finance/getBudget", "how much is left in the budget", "neither said"),
        (
            EXPLICIT,
            "finance/getBudget finance/transferBudget",
            "Show 4711, then shift money from there to 4720",
            "no value",
        ),
    ],
)
def test_what_cannot_run(validated: Validated, label: str, tools: str, text: str, said: str) -> None:
    verdict = validated("sequence", label, tools, text)
    assert not verdict.passed
    assert said in verdict.reason


MULTI = "multi-intent"


@pytest.mark.parametrize(
    ("label", "tools", "whole", "part", "said"),
    [
        ("single-intent", "facilities/reserveDesk", "a desk in LS-B2 for tomorrow", "a desk in LS-B2", "'day'"),
        ("single-intent", "travel/claimMileage", "put 84 km on R1290", "put the kilometres on R1290", "'km'"),
        (
            "single-intent",
            "facilities/bookRoom",
            "book R-214 on Friday from 2pm until 4pm",
            "book R-214 on Friday from 2pm",
            "'endsAt'",
        ),
        (
            "single-intent",
            "hr/requestLeave",
            "leave for E10442 from 3 June to 9 June, type LT1",
            "leave for E10442 from 3 June, type LT1",
            "'endDate'",
        ),
        ("single-intent", "warehouse/listBinStock", "what lies around in Leeds", "what lies around", "'plant'"),
        (
            "single-intent",
            "warehouse/transferStock",
            "40 M-2250 go from Kassel to Gdansk",
            "40 M-2250 go to Gdansk",
            "no value",
        ),
        (
            CONDITIONAL,
            "finance/getBudget finance/transferBudget",
            "If 4720 has less than 5k left this year, move 10k over from 4711",
            "If 4720 has less than 5k left this year, move some over from 4711",
            "'amount.amount'",
        ),
        (
            MULTI,
            "support/close_case support/reply_to_case",
            "Close C-20811, a plug was loose. Tell C-20930 the seals come on Monday",
            "Close C-20811, a plug was loose. Tell people the seals come on Monday",
            "no record of its own",
        ),
        (
            MULTI,
            "purchasing/delete_PurchaseOrderItem finance/getBudget",
            "Remove line 00040 on PO 4500851 and show me the budget of 4711",
            "Remove line 00040 and show me the budget of 4711",
            "neither said",
        ),
    ],
)
def test_a_value_that_is_nowhere(
    validated: Validated, label: str, tools: str, whole: str, part: str, said: str
) -> None:
    right, wrong = validated("sequence", label, tools, whole), validated("sequence", label, tools, part)
    assert right.passed, right.reason
    assert not wrong.passed
    assert said in wrong.reason


@pytest.mark.parametrize(
    ("label", "text", "right", "wrong", "said"),
    [
        (
            IMPLICIT,
            "days off left for Jan Kowalczyk",
            "hr/searchEmployees hr/getLeaveBalance",
            "hr/getLeaveBalance hr/searchEmployees",
            "comes after",
        ),
        (
            IMPLICIT,
            "whose first aid in my team runs out before Christmas?",
            "hr/getMyProfile hr/listDirectReports hr/listTrainingCertificates",
            "hr/getMyProfile hr/listAwardPrograms hr/listTrainingCertificates",
            "listAwardPrograms",
        ),
        (
            "single-intent",
            "how risky is supplier 40231?",
            "procurement/getSupplierRisk",
            "sales/getCustomer",
            "speaks of a supplier",
        ),
        (
            "single-intent",
            "show me purchase order 4500851",
            "purchasing/read_PurchaseOrderHeader",
            "sales/getSalesOrder",
            "speaks of a purchase order",
        ),
    ],
)
def test_another_tool_in_its_place(
    validated: Validated, label: str, text: str, right: str, wrong: str, said: str
) -> None:
    good, bad = validated("sequence", label, right, text), validated("sequence", label, wrong, text)
    assert good.passed, good.reason
    assert not bad.passed
    assert said in bad.reason


def test_values_given_with_a_request_count_as_said(validated: Validated, validators: dict[str, object]) -> None:
    from datagen.synthetic_request import SampleValue, SyntheticRequest

    row = {
        "id": "1",
        "query": "how's the lab's budget looking",
        "class": "single-intent",
        "tools": ["finance/getBudget"],
    }
    bare = SyntheticRequest.from_json(row)
    value = SampleValue(tool="finance/getBudget", parameter="costCenterId", value="the lab")
    told = SyntheticRequest(id="1", text=bare.text, request_class=bare.request_class, path=bare.path, values=(value,))
    validator = validators["sequence"]
    assert not validator.validate(bare).passed  # type: ignore[attr-defined]
    assert validator.validate(told).passed  # type: ignore[attr-defined]
