"""Measures against sums done by hand, and against an independent oracle in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.answers import Answer
from eval.metrics import (
    COMPLETE,
    CUTOFFS,
    METRICS,
    Scores,
    complete_recall,
    cutoff_of,
    gold_ranks,
    measures_at,
    score,
    share_too_large,
)
from eval.rank_measures import register_measure
from ontology.errors import InvalidArgumentError
from tests.eval.planted import query_set, run_of

NAMES = [metric.name for metric in METRICS]


def _one(scores: Scores, query_id: str, measure: str) -> float:
    return float(scores.values_QM[scores.query_ids.index(query_id), scores.measures.index(measure)])


def test_by_hand() -> None:
    """Gold a, b, c; found at ranks 1, 3 and 6."""
    queries = query_set({"q": ["a", "b", "c"]})
    scores = score(run_of(queries, {"q": ["a", "x1", "b", "x2", "x3", "c"]}), queries, (1, 3, 5, 10))
    by_hand = {
        "CompleteRecall@1": 0,
        "CompleteRecall@3": 0,  # c is not among the first three
        "CompleteRecall@5": 0,
        "CompleteRecall@10": 1,
        "R@1": 1 / 3,
        "R@3": 2 / 3,
        "R@5": 2 / 3,
        "R@10": 1,
        # Gains 1/log2(rank + 1): rank 1 gives 1, rank 3 gives 1/2, rank 6 gives 1/log2(7); the ideal at three or more is
        # ranks 1, 2, 3, that is 1 + 1/log2(3) + 1/2, and at one just 1.
        "nDCG@1": 1,
        "nDCG@3": (1 + 1 / 2) / (1 + 1 / math.log2(3) + 1 / 2),  # 0.7039
        "nDCG@5": (1 + 1 / 2) / (1 + 1 / math.log2(3) + 1 / 2),
        "nDCG@10": (1 + 1 / 2 + 1 / math.log2(7)) / (1 + 1 / math.log2(3) + 1 / 2),  # 0.8711
        # Precision at the ranks of gold tools: 1/1, 2/3, 3/6; always over all three gold tools.
        "AP@1": (1 / 1) / 3,
        "AP@3": (1 / 1 + 2 / 3) / 3,
        "AP@5": (1 / 1 + 2 / 3) / 3,
        "AP@10": (1 / 1 + 2 / 3 + 3 / 6) / 3,
        "RR@1": 1,
        "RR@3": 1,
        "RR@5": 1,
        "RR@10": 1,
    }
    assert set(by_hand) == set(scores.measures)
    assert {measure: _one(scores, "q", measure) for measure in by_hand} == pytest.approx(by_hand, abs=1e-6)


def test_no_answer_scores_0_and_counts() -> None:
    queries = query_set({query_id: ["a"] for query_id in ("answered", "absent", "failed", "empty")})
    failed = Answer(query_id="failed", tools=("a",), error="timed out")
    scores = score(run_of(queries, {"answered": ["a"], "failed": failed, "empty": []}), queries)
    assert scores.query_ids == ("answered", "absent", "failed", "empty")
    assert scores.values_QM.shape == (4, len(measures_at(CUTOFFS)))
    assert scores.values_QM[0].tolist() == [1.0] * len(scores.measures)
    assert not scores.values_QM[1:].any()


def test_a_tool_answered_twice_keeps_its_place_twice_and_counts_once() -> None:
    queries = query_set({"q": ["a", "b"]})
    scores = score(run_of(queries, {"q": ["a", "a", "a", "b"]}), queries, (3, 5))
    assert gold_ranks(["a", "a", "a", "b"], ["b", "a"]) == (4, 1)
    assert _one(scores, "q", "CompleteRecall@3") == 0
    assert _one(scores, "q", "R@3") == 0.5
    assert _one(scores, "q", "AP@5") == 0.75  # (1/1 + 2/4) / 2


def test_names_parse_back() -> None:
    import ir_measures

    register_measure(COMPLETE, complete_recall)
    assert measures_at(CUTOFFS)[:6] == (*(f"CompleteRecall@{k}" for k in CUTOFFS), "R@3")
    for name in measures_at(CUTOFFS):
        assert str(ir_measures.parse_measure(name)) == name
    assert cutoff_of("nDCG@20") == 20


@pytest.mark.parametrize("cutoffs", [(), (0, 3), (3, 3)])
def test_cutoffs_that_mean_nothing_are_refused(cutoffs: Sequence[int]) -> None:
    queries = query_set({"q": ["a"]})
    with pytest.raises(InvalidArgumentError, match="cutoffs"):
        score(run_of(queries, {}), queries, cutoffs)


def _oracle(tools: Sequence[str], gold: Sequence[str], k: int) -> dict[str, float]:
    """Every metric at k from its definition."""
    hits = [tool in gold for tool in tools[:k]]
    precisions = [sum(hits[: at + 1]) / (at + 1) for at, hit in enumerate(hits) if hit]
    gained = sum(hit / math.log2(at + 2) for at, hit in enumerate(hits))
    ideal = sum(1 / math.log2(at + 2) for at in range(min(k, len(gold))))
    first = 1 / (hits.index(True) + 1) if any(hits) else 0.0
    complete = float(set(gold) <= set(tools[:k]))
    return {
        "CompleteRecall": complete,
        "R": sum(hits) / len(gold),
        "nDCG": gained / ideal,
        "AP": sum(precisions) / len(gold),
        "RR": first,
    }


def test_by_hand_with_tools_that_would_do_equally() -> None:
    """Slots a or b, c, and d or c: b is found at rank 2, c at 3 fills two slots, a at 4 fills none that is empty."""
    queries = query_set({"q": [["a", "b"], "c", ["d", "c"]]})
    scores = score(run_of(queries, {"q": ["x", "b", "c", "a"]}), queries, (2, 3))
    at_2 = {"CompleteRecall": 0, "R": 1 / 3, "AP": (1 / 2) / 3, "RR": 1 / 2}
    at_3 = {"CompleteRecall": 1, "R": 1, "AP": (1 / 2 + 2 / 3) / 2, "RR": 1 / 2}  # b and c are all that is needed
    for k, by_hand in ((2, at_2), (3, at_3)):
        assert {name: _one(scores, "q", f"{name}@{k}") for name in by_hand} == pytest.approx(by_hand, abs=1e-6)
    assert share_too_large(queries.queries, 1) == 1
    assert share_too_large(queries.queries, 2) == 0


TOOLS = st.integers(0, 12).map(str)


def _suiting(tools: Sequence[str], slots: Sequence[Sequence[str]], k: int) -> list[str]:
    """The gold set without alternatives that suits the first k tools best."""
    top = list(tools[:k])
    chosen = [min((top.index(tool) for tool in slot if tool in top), default=None) for slot in slots]
    found = [top[place] for place in sorted({place for place in chosen if place is not None})]
    return found + [f"missing {at}" for at, place in enumerate(chosen) if place is None]


@settings(max_examples=60)
@given(
    gold=st.lists(st.lists(st.lists(TOOLS, min_size=1, max_size=3), min_size=1, max_size=4), min_size=1, max_size=6),
    answers=st.lists(st.lists(TOOLS, max_size=13, unique=True), min_size=6, max_size=6),
    cutoffs=st.lists(st.integers(1, 15), min_size=1, max_size=3, unique=True),
)
def test_any_answer_is_worth_what_the_definitions_say(
    gold: list[list[list[str]]], answers: list[list[str]], cutoffs: list[int]
) -> None:
    queries = query_set({f"q{number}": slots for number, slots in enumerate(gold)})
    run = run_of(queries, {query.id: answer for query, answer in zip(queries.queries, answers, strict=False)})
    scores = score(run, queries, cutoffs)
    for query, answer in zip(queries.queries, answers, strict=False):
        for k in cutoffs:
            got = {name: _one(scores, query.id, f"{name}@{k}") for name in NAMES}
            assert got == pytest.approx(_oracle(answer, _suiting(answer, query.slots, k), k), abs=1e-6)
            assert got["CompleteRecall"] == all(set(slot) & set(answer[:k]) for slot in query.slots)
            if len(query.tools) == sum(map(len, query.slots)):  # no tool in two slots: recall is the share of slots
                filled = sum(bool(set(slot) & set(answer[:k])) for slot in query.slots)
                assert got["R"] == pytest.approx(filled / len(query.slots))
