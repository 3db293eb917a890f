"""Opposite actions, conditions that nothing answers, steps in another order, and tools that nothing asks for."""

from __future__ import annotations

import pytest

from tests.datagen.validation.conftest import Validated

SINGLE, MULTI, EXPLICIT, CONDITIONAL = "single-intent", "multi-intent", "explicit-multi-step", "conditional-multi-step"
BLOCK, UNBLOCK = "procurement/blockSupplier", "procurement/unblockSupplier"


@pytest.mark.parametrize(
    ("label", "tools", "text", "said"),
    [
        (SINGLE, UNBLOCK, "please block supplier 40188", "does the opposite"),
        (SINGLE, BLOCK, "lift the block on supplier 40188", "does the opposite"),
        (SINGLE, BLOCK, "Unblock supplier 40188", "does the opposite"),
        (SINGLE, BLOCK, "Supplier 40188 has paid, unblock it", "does the opposite"),
        (
            CONDITIONAL,
            f"procurement/getSupplier {BLOCK}",
            "If the salary of supplier 40188 is high, block them",
            "on the salary",
        ),
        (
            EXPLICIT,
            "warehouse/postGoodsIssue warehouse/confirmPicking",
            "Confirm the picks of delivery 80001234, then post the goods issue",
            "the other order",
        ),
        (
            MULTI,
            "projects/approve_timesheet warehouse/searchCarriers manufacturing/read_BillsOfMaterial",
            "Approve timesheet TS-4502. Also, what goes into B-1204?",
            "nothing in the request asks for warehouse/searchCarriers",
        ),
    ],
)
def test_what_does_not_follow(validated: Validated, label: str, tools: str, text: str, said: str) -> None:
    verdict = validated("sequence", label, tools, text)
    assert not verdict.passed
    assert said in verdict.reason


@pytest.mark.parametrize(
    ("label", "tools", "text"),
    [
        (SINGLE, BLOCK, "please block supplier 40188"),
        (SINGLE, UNBLOCK, "lift the block on supplier 40188"),
        (SINGLE, UNBLOCK, "supplier 40188 should not be blocked any longer, block no more"),
        (
            EXPLICIT,
            "warehouse/confirmPicking warehouse/postGoodsIssue",
            "Confirm the picks of delivery 80001234, then post the goods issue",
        ),
        (
            CONDITIONAL,
            f"procurement/getSupplier {BLOCK}",
            "If the status of supplier 40188 is inactive, block them",
        ),
    ],
)
def test_what_follows(validated: Validated, label: str, tools: str, text: str) -> None:
    verdict = validated("sequence", label, tools, text)
    assert verdict.passed, verdict.reason


@pytest.mark.parametrize(
    ("tools", "text", "said"),
    [
        (
            f"procurement/getSupplier {BLOCK}",
            "If the moon over vendor 40188 is full, block it: bad omen",
            "'moon full'",
        ),
        (f"procurement/getSupplier {BLOCK}", "If vendor 40188 is still approved, block it: debts", ""),
        ("sales/searchCustomers sales/createOpportunity", "If there's a client called Acme, log a deal 'pumps'", ""),
    ],
)
def test_conditions_of_whose_words_no_document_has_one(validated: Validated, tools: str, text: str, said: str) -> None:
    reason = validated("sequence", CONDITIONAL, tools, text).reason
    assert f"gives anything on {said}" in reason if said else "gives anything on" not in reason


@pytest.mark.parametrize(
    ("tool", "text", "said"),
    [
        ("hr/enrolInCourse", "E10771 does not want course C-880 any more", "not wanted any more"),
        ("warehouse/listInboundDeliveries", "Which outgoing deliveries does LP02 have?", "goes the other way"),
        ("warehouse/listInboundDeliveries", "Which incoming deliveries does LP02 have?", ""),
    ],
)
def test_what_is_ended_and_what_goes_the_other_way(validated: Validated, tool: str, text: str, said: str) -> None:
    verdict = validated("sequence", SINGLE, tool, text)
    assert said in verdict.reason if said else verdict.passed
