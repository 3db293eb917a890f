"""Z-scores: features of unlike scales are made comparable before they are added up."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_Z", "bounded", "standardise"]

MAX_Z = 8.0
"""The bound of :func:`bounded`. Chosen so that nothing changes with some hundred candidates; 5 costs half a point there."""
# A cosine of 384 products differs by about so much with the order of adding.
_ROUNDING = 8 * float(np.finfo(np.float32).eps)
_SMALLEST = float(np.finfo(np.float32).tiny)  # below it a spread may round to 0


def bounded(z_scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The z-scores, none above 8.

    The z-score of the only tool of N that has a word grows with the square root of N: unbounded, one rare word outweighs
    everything else in a large catalogue.
    """
    return np.minimum(z_scores, np.float32(MAX_Z))


def standardise(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Z-scores along the last axis, float32 of the same shape; all zero where the values of a row differ by no more than the
    rounding of float32. One call for many rows takes hardly longer than for one.
    """
    if not values.size:
        return np.zeros_like(values)
    if values.ndim == 1:
        return _standardise_row(values)
    highest = values.max(axis=-1, keepdims=True).astype(np.float64)
    lowest = values.min(axis=-1, keepdims=True).astype(np.float64)
    equal = highest - lowest <= np.maximum(_ROUNDING * np.maximum(np.abs(highest), np.abs(lowest)), _SMALLEST)
    centred = values - values.mean(axis=-1, keepdims=True)
    # In float64: the square of a small float32 is 0.
    spread = np.sqrt(np.square(centred, dtype=np.float64).mean(axis=-1, keepdims=True))
    return np.where(equal, np.float32(0.0), centred / np.where(equal, 1.0, spread).astype(np.float32))


def _standardise_row(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same for one row, to the bit. It takes a third of the time, and a search for weights does it millions of times."""
    highest, lowest = float(values.max()), float(values.min())
    if highest - lowest <= max(_ROUNDING * max(abs(highest), abs(lowest)), _SMALLEST):
        return np.zeros_like(values)
    centred = values - values.sum() / np.float32(len(values))
    spread = math.sqrt(float(np.square(centred, dtype=np.float64).sum()) / len(values))
    standardised: NDArray[np.float32] = centred / np.float32(spread)
    return standardised
