"""Measures against sums done by hand, and against ir_measures; intervals that cover."""

from collections.abc import Mapping, Sequence

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from eval.measured_set import Answer
from eval.metrics import (
    check,
    gold_ranks,
    interval,
    p_value,
    resampled_means,
    score,
    share_too_large,
)
from eval.queries import QuerySet
from ontology.errors import InvalidArgumentError
from tests.eval.planted import query_set, run_of


def _scores(
    queries: QuerySet, answers: Mapping[str, Sequence[str] | Answer], cutoffs: Sequence[int]
) -> list[dict[str, float]]:
    """Measure → value, of each request."""
    found = score(run_of(queries, answers), queries, cutoffs)
    return [dict(zip(found.measures, row, strict=True)) for row in found.values_QM.tolist()]


def test_a_tool_answered_twice_keeps_its_place_twice_and_counts_once() -> None:
    queries = query_set({"q": ["a", "b"]})
    [scores] = _scores(queries, {"q": ["a", "a", "a", "b"]}, (3, 5))
    assert gold_ranks(["a", "a", "a", "b"], ["b", "a"]) == (4, 1)
    assert (scores["CompleteRecall@3"], scores["R@3"], scores["AP@5"]) == (0, 0.5, 0.75)  # (1/1 + 2/4) / 2


@pytest.mark.parametrize("cutoffs", [(), (0, 3), (3, 3)])
def test_cutoffs_that_mean_nothing_are_refused(cutoffs: Sequence[int]) -> None:
    queries = query_set({"q": ["a"]})
    with pytest.raises(InvalidArgumentError, match="cutoffs"):
        score(run_of(queries, {}), queries, cutoffs)


def test_by_hand_with_tools_that_would_do_equally() -> None:
    """Slots a or b, c, and d or c: b is found at rank 2, c at 3 fills two slots, a at 4 fills none that is empty."""
    queries = query_set({"q": [["a", "b"], "c", ["d", "c"]]})
    [scores] = _scores(queries, {"q": ["x", "b", "c", "a"]}, (2, 3))
    at_2 = {"CompleteRecall": 0, "R": 1 / 3, "AP": (1 / 2) / 3, "RR": 1 / 2}
    at_3 = {"CompleteRecall": 1, "R": 1, "AP": (1 / 2 + 2 / 3) / 2, "RR": 1 / 2}  # b and c are all that is needed
    for k, by_hand in ((2, at_2), (3, at_3)):
        assert {name: scores[f"{name}@{k}"] for name in by_hand} == pytest.approx(by_hand, abs=1e-6)
    assert share_too_large(queries.queries, 1) == 1
    assert share_too_large(queries.queries, 2) == 0


TOOLS = st.integers(0, 12).map(str)


def _suiting(tools: Sequence[str], slots: Sequence[Sequence[str]], k: int) -> list[str]:
    """The gold set without alternatives that suits the first k tools best."""
    top = list(tools[:k])
    chosen = [min((top.index(tool) for tool in slot if tool in top), default=None) for slot in slots]
    found = [top[place] for place in sorted({place for place in chosen if place is not None})]
    return found + [f"missing {at}" for at, place in enumerate(chosen) if place is None]


@settings(max_examples=40, deadline=None)
@given(
    gold=st.lists(st.lists(st.lists(TOOLS, min_size=1, max_size=3), min_size=1, max_size=4), min_size=1, max_size=6),
    answers=st.lists(st.lists(TOOLS, max_size=13, unique=True), min_size=6, max_size=6),
    cutoffs=st.lists(st.integers(1, 15), min_size=1, max_size=3, unique=True),
)
def test_any_answer_is_worth_what_ir_measures_says(
    gold: list[list[list[str]]], answers: list[list[str]], cutoffs: list[int]
) -> None:
    queries = query_set({f"q{number}": slots for number, slots in enumerate(gold)})
    said = dict(zip((query.id for query in queries.queries), answers, strict=False))
    scores = _scores(queries, said, cutoffs)
    names = [f"{name}@{k}" for name in ("R", "nDCG", "AP", "RR") for k in cutoffs]
    for query, got in zip(queries.queries, scores, strict=True):
        for k in cutoffs:
            assert got[f"CompleteRecall@{k}"] == all(set(slot) & set(said[query.id][:k]) for slot in query.slots)
            judged = {query.id: dict.fromkeys(_suiting(said[query.id], query.slots, k), 1)}
            ranked = {query.id: {tool: float(-rank) for rank, tool in enumerate(said[query.id])} or {"none": 0.0}}
            measures = [ir_measures.parse_measure(name) for name in names if name.endswith(f"@{k}")]
            found = ir_measures.calc_aggregate(measures, judged, ranked)
            assert {str(measure): got[str(measure)] for measure in measures} == pytest.approx(
                {str(measure): value for measure, value in found.items()}, abs=1e-6
            )


# -- the paired bootstrap ------------------------------------------------------------------------------------------------


def _bernoulli(share: float, rows: int, seed: int) -> NDArray[np.float32]:
    return (np.random.default_rng(seed).random(rows) < share).astype(np.float32)


def _means(*columns: NDArray[np.float32], resamples: int = 2_000, stratum: str = "set") -> NDArray[np.float32]:
    return resampled_means(np.stack(columns, axis=1), resamples=resamples, seed=0, stratum=stratum)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """300 samples of 120 requests; a share covered near .95 has a standard error of .0126."""
    covered = 0
    for sample in range(300):
        low, high = interval(_means(_bernoulli(0.6, 120, seed=sample), resamples=400, stratum=str(sample)))
        covered += int(low[0] <= 0.6 <= high[0])
    assert 0.90 <= covered / 300 <= 0.985


def test_p_values() -> None:
    base = _bernoulli(0.5, 400, seed=1)
    clearly = np.maximum(base, _bernoulli(0.2, 400, seed=2))
    means = _means(base, base, clearly, base[::-1], resamples=2_000)
    p = p_value(means - means[0])
    assert p[0] == p[1] == 1
    assert p[2] == pytest.approx(2 / 2_001)  # no draw against it: as small as so many draws can say
    assert p[2] == p_value(means[0] - means[2:3])[0]  # two-sided
    assert p[3] > 0.5  # as good, on other requests


@pytest.mark.parametrize(("resamples", "seed", "subject"), [(0, 0, "resamples"), (10, -1, "seed")])
def test_what_cannot_be_drawn_is_refused(resamples: int, seed: int, subject: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        check(resamples=resamples, seed=seed)
    assert caught.value.subject == subject
