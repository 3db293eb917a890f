"""Z-scores: features of unlike scales are made comparable before they are added up."""

from __future__ import annotations

import numpy as np

from inference.arrays import Floats1d

__all__ = ["standardise"]


def standardise(values: Floats1d) -> Floats1d:
    """Z-scores, float32 of the same shape; all zero where the values do not differ."""
    spread = float(values.std()) if len(values) else 0.0
    if spread < 1e-9:
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / spread, dtype=np.float32)
