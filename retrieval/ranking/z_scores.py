"""Z-scores: features of unlike scales are made comparable before they are added up."""

from __future__ import annotations

import numpy as np

from inference.arrays import Floats1d

__all__ = ["standardise"]

# A cosine of 384 products differs by about so much with the order in which they are added.
_ROUNDING = 8 * float(np.finfo(np.float32).eps)


def standardise(values: Floats1d) -> Floats1d:
    """Z-scores, float32 of the same shape; all zero where the values differ by no more than the rounding of float32."""
    if not len(values) or float(np.ptp(values)) <= _ROUNDING * float(np.abs(values).max()):
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / values.std(), dtype=np.float32)
