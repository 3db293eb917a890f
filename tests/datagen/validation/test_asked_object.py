"""Another thing than the request asks for: both checks find it, and words that only belong to a phrase are no object."""

from __future__ import annotations

import pytest

from tests.datagen.validation.conftest import Validated

SINGLE, EXPLICIT = "single-intent", "explicit-multi-step"


@pytest.mark.parametrize("check", ["sequence", "error"])
@pytest.mark.parametrize(
    ("label", "tools", "text", "asked"),
    [
        (SINGLE, "projects/list_milestones", "List the tasks of project P-202", "task"),
        (SINGLE, "hr/listPayslips", "Show the leave balance of E10442", "leave balance"),
        (EXPLICIT, "sales/searchCustomers sales/searchOpportunities", "Find Acme, then list its quotes", "quote"),
    ],
)
def test_what_no_tool_of_the_path_is_about(
    validated: Validated, check: str, label: str, tools: str, text: str, asked: str
) -> None:
    verdict = validated(check, label, tools, text)
    assert not verdict.passed
    assert f"asks for the {asked}" in verdict.reason


@pytest.mark.parametrize(
    ("label", "tools", "text"),
    [
        (SINGLE, "projects/list_milestones", "When are the milestones of project P-202 due?"),
        # "stock" is a part of another noun, "customer" stands in a phrase of something else.
        (SINGLE, "warehouse/openCycleCount", "Kick off the stock take at plant LP06 with part M-2191"),
        (SINGLE, "travel/cancelBooking", "Cancel BK-7741 with the customer"),
    ],
)
def test_what_is_the_object_of_nothing(validated: Validated, label: str, tools: str, text: str) -> None:
    assert "asks for the" not in validated("sequence", label, tools, text).reason
