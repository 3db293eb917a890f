"""Confidence: the models by hand-made numbers, the shipped calibrations by what must hold of any."""

from __future__ import annotations

import numpy as np

from retrieval.ranking.confidence import (
    Confidence,
)


def confidence(probabilities: list[float], *, unanswerable: bool = False) -> Confidence:
    return Confidence(
        answerable=0.1 if unanswerable else 0.9,
        unanswerable=unanswerable,
        probabilities=np.asarray(probabilities, dtype=np.float32),
    )
