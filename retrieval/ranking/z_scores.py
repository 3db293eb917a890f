"""Z-scores: features of unlike scales are made comparable before they are added up."""

from __future__ import annotations

import numpy as np

from inference.arrays import Floats1d

__all__ = ["MAX_Z", "bounded", "standardise"]

MAX_Z = 8.0
"""The bound of :func:`bounded`. Chosen so that nothing changes with some hundred candidates; 5 costs half a point there."""
# A cosine of 384 products differs by about so much with the order of adding.
_ROUNDING = 8 * float(np.finfo(np.float32).eps)


def bounded(z_scores: Floats1d) -> Floats1d:
    """The z-scores, none above 8.

    The z-score of the only tool of N that has a word grows with the square root of N: unbounded, one rare word outweighs
    everything else in a large catalogue.
    """
    return np.minimum(z_scores, np.float32(MAX_Z))


def standardise(values: Floats1d) -> Floats1d:
    """Z-scores, float32 of the same shape; all zero where the values differ by no more than the rounding of float32."""
    if not len(values):
        return np.zeros_like(values)
    highest, lowest = float(values.max()), float(values.min())
    if highest - lowest <= _ROUNDING * max(abs(highest), abs(lowest)):
        return np.zeros_like(values)
    centred = values - values.mean()
    spread = float(np.sqrt(np.square(centred, dtype=np.float64).mean()))  # the square of a small float32 is 0
    return np.asarray(centred / spread, dtype=np.float32)
