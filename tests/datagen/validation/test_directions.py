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
