from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.errors import InvalidArgumentError
from research.confidence.abstention import area_under_curve, calibration_error, complete_at, false_hits, texts_of


def test_only_the_requests_of_the_split_are_read(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    rows = [{"query": name, "split": split} for name, split in (("one", "dev"), ("two", "test"), ("three", "dev"))]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert texts_of(file, "dev") == ["one", "three"]
    assert texts_of(file, "") == ["one", "two", "three"]
    with pytest.raises(InvalidArgumentError, match="no request of this split"):
        texts_of(file, "other")


SCORES = st.lists(st.integers(0, 5), min_size=1, max_size=20)


@given(SCORES, SCORES)
def test_the_area_is_the_share_of_pairs_in_the_right_order(positives: list[int], negatives: list[int]) -> None:
    pairs = [(one, other) for one in positives for other in negatives]
    right = sum(1.0 if one > other else 0.5 if one == other else 0.0 for one, other in pairs)
    assert abs(area_under_curve(positives, negatives) - right / len(pairs)) < 1e-9


@given(SCORES, SCORES)
def test_false_hits_are_counted_where_95_of_100_are_kept(served: list[int], unserved: list[int]) -> None:
    assert 0 <= false_hits(served, unserved) <= 1
    assert false_hits(served, [score + 10 for score in unserved]) == 1
    assert false_hits([score + 10 for score in served], unserved) == 0


def test_probabilities_that_are_frequencies_have_no_error() -> None:
    assert calibration_error([0.25] * 4, [True, False, False, False]) == 0
    assert calibration_error([0.9] * 4 + [0.1] * 4, [False] * 8) == 0.5


@given(st.lists(st.integers(1, 21), min_size=1, max_size=20), st.integers(1, 20))
def test_completeness_between_two_ks_lies_between_theirs(ranks: list[int], k: int) -> None:
    low, middle, high = (complete_at(ranks, value) for value in (k, k + 0.5, k + 1))
    assert low == sum(rank <= k for rank in ranks) / len(ranks)
    assert abs(middle - (low + high) / 2) < 1e-9
