"""The class check: the cues of each class, both ways."""

from __future__ import annotations

import pytest

from tests.datagen.validation.conftest import Validated

BUDGET = "finance/getBudget finance/transferBudget"
MEMBER = "hr/searchEmployees hr/getLeaveBalance"
TWO = "travel/cancelBooking hr/cancelLeaveRequest"
OWED = "sales/searchCustomers finance/getOpenReceivables"


@pytest.mark.parametrize(
    ("label", "tools", "text"),
    [
        ("single-intent", "finance/getBudget", "what's left on cost centre 4711?"),
        ("single-intent", "finance/getBudget", "let me know if there is anything left on 4711"),
        ("multi-intent", TWO, "Cancel BK-7712. Also take back LR-4412"),
        ("explicit-multi-step", BUDGET, "check what 4711 has left, then move 5k from it to 4720"),
        ("implicit-multi-step", MEMBER, "how many days off has Jan Kowalczyk got left"),
        ("conditional-multi-step", BUDGET, "unless 4720 has more than 5k, move 10k over from 4711"),
        ("conditional-multi-step", BUDGET, "should 4720 have less than 5k, move 10k over from 4711"),
        ("conditional-multi-step", BUDGET, "is 4720 down to 5k? if so move 10k over from 4711"),
        ("ir-multi-intent", "hr/searchHandbook hr/cancelLeaveRequest", "How does sick leave work? And drop LR-4412"),
    ],
)
def test_of_its_class(validated: Validated, label: str, tools: str, text: str) -> None:
    verdict = validated("class", label, tools, text)
    assert verdict.passed, verdict.reason


@pytest.mark.parametrize(
    ("label", "tools", "text", "said"),
    [
        ("single-intent", BUDGET, "check 4711, then move 5k to 4720", "'then' says an order"),
        ("multi-intent", "finance/getBudget hr/getLeaveBalance", "what's left on 4711?", "asks for one thing"),
        ("multi-intent", TWO, "If BK-7712 is a hotel cancel it and drop LR-4412", "states a condition"),
        ("explicit-multi-step", TWO, "Cancel BK-7712, drop LR-4412.", "multi-intent"),
        ("explicit-multi-step", MEMBER, "how many days off has Jan Kowalczyk got left", "implicit-multi-step"),
        ("implicit-multi-step", MEMBER, "find Jan Kowalczyk and after that show his days off", "'after that'"),
        ("implicit-multi-step", TWO, "Cancel BK-7712 and drop LR-4412", "2 distinct things"),
        ("implicit-multi-step", "finance/getBudget", "what's left on 4711?", "one tool"),
        ("conditional-multi-step", MEMBER, "let me know if Jan Kowalczyk has days off left", "no condition"),
        ("conditional-multi-step", MEMBER, "if you have a minute, how many days off has Jan Kowalczyk", "no condition"),
        ("conditional-multi-step", MEMBER, "I wonder if you could tell me Jan Kowalczyk's days off", "no condition"),
        ("ir-multi-intent", TWO, "Cancel BK-7712 and drop LR-4412", "no question of general knowledge"),
        (
            "multi-intent",
            "hr/searchHandbook hr/cancelLeaveRequest",
            "What is a sabbatical? Also drop LR-4412",
            "ir-multi",
        ),
        ("multi-intent", OWED, "Find Hansen Marine. Show what they owe us.", "feeds the next"),
        (
            "multi-intent",
            "finance/getBudget hr/getLeaveBalance",
            "Show the budget of 4711. Based on that, list the days off of E10777.",
            "'based on' makes one of them from the other",
        ),
        ("several", TWO, "Cancel BK-7712 and drop LR-4412", "none of the six classes"),
    ],
)
def test_not_of_its_class(validated: Validated, label: str, tools: str, text: str, said: str) -> None:
    verdict = validated("class", label, tools, text)
    assert not verdict.passed
    assert said in verdict.reason
