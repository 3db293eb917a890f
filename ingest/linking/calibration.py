"""Calibration: from the score of an edge to the share of true edges among those of its score.

The points of ``confidence.yaml`` come from edges that a reader judged (``python -m research.edge_truth calibrate``). Between two points
the confidence rises evenly, so a better score never has a lower confidence.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import Any

from ontology.yaml_data import read_yaml

__all__ = ["calibrated"]


_LAST_RISE = 0.03
"""Rise after the last point, so that of two edges the one with the better score still has the higher confidence."""


def calibrated(predicate: str, score: float) -> float:
    """Return the confidence of an edge, in [0, 1]; the score itself for a predicate that is not calibrated."""
    points = _points().get(predicate)
    if not points:
        return score
    at = bisect_right(points, (score, 2.0))
    low, start = points[at - 1] if at else (0.0, 0.0)
    high, end = points[at] if at < len(points) else (1.0, min(start + _LAST_RISE, 1.0))
    return round(start + (end - start) * (score - low) / (high - low), 4) if high > low else end


@cache
def _points() -> dict[str, list[tuple[float, float]]]:
    rows: dict[str, Any] = read_yaml(Path(__file__).parent / "confidence.yaml")["bins"]
    return {predicate: [(float(score), float(share)) for score, share in points] for predicate, points in rows.items()}
