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
