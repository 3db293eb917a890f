"""The study of usage lines: ranks, fusion and scores by hand."""

from __future__ import annotations

import numpy as np
import pytest

from inference import HashingEncoder
from ingest.usage.usage_rules import usage_by_rules
from ontology import Tool, load_ontology
from research.usage_lines import UsageIndex, _differences, completing_rank, fused

TOOLS = [
    Tool(id="a", name="cancel_booking", description="Cancels a booking."),
    Tool(id="b", name="list_invoices", description="Lists invoices."),
]


def test_a_request_is_complete_at_the_rank_of_its_last_tool() -> None:
    assert completing_rank(["x", "y", "z"], ["z", "x"]) == 3
    assert completing_rank(["x", "y", "z"], ["x", "w"]) > 100


def test_fusion_adds_reciprocal_ranks_and_breaks_ties_by_id() -> None:
    assert fused(["b", "a"], ["a", "b"]) == ["a", "b"]
    assert fused(["c", "a"], ["c", "b"]) == ["c", "a", "b"]


def test_the_score_of_a_tool_is_that_of_its_best_line() -> None:
    encoder = HashingEncoder()
    index = UsageIndex(TOOLS, encoder)
    (vector_D,) = encoder.encode(["call off the booking"])
    usage = usage_by_rules(TOOLS[0], load_ontology())
    lines = [line.text for line in (*usage.when_to_use, *usage.requests)]
    assert "call off the booking" in lines
    best = (encoder.encode(lines) @ vector_D).max()
    assert index.scores(vector_D)[0] == pytest.approx(best) == pytest.approx(1.0)
    assert index.ranking(vector_D) == ["a", "b"]


def test_a_difference_is_the_mean_of_the_sets_in_points() -> None:
    ranks = {
        "one": {"new": np.array([1, 1]), "old": np.array([1, 999])},
        "two": {"new": np.array([4]), "old": np.array([4])},
    }
    assert _differences(ranks, "new", "old").startswith("@3 +25.0 [")
