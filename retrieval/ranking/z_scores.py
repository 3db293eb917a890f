"""Z-scores: features of unlike scales are made comparable before they are added up."""

from __future__ import annotations

import numpy as np

from inference.arrays import Floats1d

__all__ = ["MAX_Z", "bounded", "standardise"]

MAX_Z = 8.0
"""The bound of :func:`bounded`. Chosen so that nothing changes with some hundred candidates; 5 costs half a point there."""


def bounded(z_scores: Floats1d) -> Floats1d:
    """The z-scores, none above 8.

    The z-score of the only tool of N that has a word grows with the square root of N: unbounded, one rare word outweighs
    everything else in a large catalogue.
    """
    return np.minimum(z_scores, np.float32(MAX_Z))


def standardise(values: Floats1d) -> Floats1d:
    """Z-scores, float32 of the same shape; all zero where the values do not differ."""
    spread = float(values.std()) if len(values) else 0.0
    if spread < 1e-9:
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / spread, dtype=np.float32)
