"""Score normalisation and weighted sums, by which features of unlike scales are fused."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from inference.arrays import Floats1d

__all__ = ["standardise", "weighted_sum"]


def standardise(values: Floats1d) -> Floats1d:
    """Z-scores, float32 of the same shape; all zero where the values do not differ."""
    spread = float(values.std()) if len(values) else 0.0
    if spread < 1e-9:
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / spread, dtype=np.float32)


def weighted_sum(standardised: Mapping[str, Floats1d], weights: Mapping[str, float]) -> Floats1d:
    """The weighted sum of at least one standardised feature, float32 of their shape; added up in their order."""
    scores = np.zeros_like(next(iter(standardised.values())))
    for name, values in standardised.items():
        scores += weights[name] * values
    return scores
