from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scripts.unanswerable import area_under_curve

SCORES = st.lists(st.integers(0, 5), min_size=1, max_size=20)


@given(SCORES, SCORES)
def test_the_area_is_the_share_of_pairs_in_the_right_order(positives: list[int], negatives: list[int]) -> None:
    pairs = [(one, other) for one in positives for other in negatives]
    right = sum(1.0 if one > other else 0.5 if one == other else 0.0 for one, other in pairs)
    assert abs(area_under_curve(positives, negatives) - right / len(pairs)) < 1e-9
