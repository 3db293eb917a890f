"""Confidence from judged samples: the points of the data file, and a rise between them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from ingest.linking import rp_edges as calibration
from ingest.linking.rp_edges import calibrated
from ontology.files import read_yaml

BINS: dict[str, list[tuple[float, float]]] = read_yaml(Path(calibration.__file__).parent / "confidence.yaml")["bins"]


@pytest.mark.parametrize("predicate", ["supplies", "resolved_by"])
def test_a_better_score_is_a_higher_confidence(predicate: str) -> None:
    values = [calibrated(predicate, step / 50) for step in range(51)]
    assert all(one < other for one, other in pairwise(values))
    assert values[0] >= 0 and values[-1] <= 1


def test_between_two_points_it_rises_evenly_and_after_the_last_a_little() -> None:
    (low, start), (high, end) = BINS["supplies"][:2]
    assert calibrated("supplies", (low + high) / 2) == pytest.approx((start + end) / 2, abs=1e-4)
    last = BINS["supplies"][-1][1]
    assert last < calibrated("supplies", 1.0) < last + 0.05


def test_what_is_not_calibrated_stays() -> None:
    assert calibrated("depends_on", 0.9) == 0.9
