"""Histograms of cosines and confidences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inference.arrays import Floats1d

__all__ = ["Histogram", "histogram_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """The number of values in each bin.

    :param edges: edges of the bins, one more than ``counts``.
    """

    counts: tuple[int, ...]
    edges: tuple[float, ...]


def histogram_of(values: Sequence[float] | Floats1d, bins: int) -> Histogram:
    """Count values in bins of equal width over [0, 1]; values outside count in the first or the last bin."""
    clipped = np.clip(np.asarray(values, dtype=float), 0.0, 1.0)
    counts, edges = np.histogram(clipped, bins=bins, range=(0.0, 1.0))
    return Histogram(counts=tuple(map(int, counts)), edges=tuple(round(float(edge), 4) for edge in edges))
