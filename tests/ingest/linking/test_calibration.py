"""Confidence from judged samples rises with the score."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ingest.linking.calibration import calibrated


@pytest.mark.parametrize("predicate", ["supplies", "resolved_by"])
def test_a_better_score_is_a_higher_confidence(predicate: str) -> None:
    values = [calibrated(predicate, step / 50) for step in range(51)]
    assert all(one < other for one, other in pairwise(values))
    assert values[0] >= 0 and values[-1] <= 1


def test_what_is_not_calibrated_stays() -> None:
    assert calibrated("depends_on", 0.9) == 0.9
