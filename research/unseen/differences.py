"""Differences between systems: on one set over its requests, and over sets with the set as the unit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.metrics import interval, resampled_means
from scripts.graph_gain import sign_flip_p

__all__ = ["Difference", "OverSets", "complete", "difference", "over_sets"]

_RESAMPLES = 2_000
# The 97.5 % quantiles of Student's t for 1, 2, … degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_T_BEYOND = 2.131


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two systems on one set in points, with the paired 95 % interval over its requests."""

    value: float
    low: float
    high: float

    @property
    def below(self) -> bool:
        """Whether the first system is below the second beyond the interval."""
        return self.high < 0

    @property
    def sure(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class OverSets:
    """The mean of the differences of some sets in points, with the 95 % t-interval and the sign-flip p; both with the set as the unit."""

    mean: float
    low: float
    high: float
    p: float


def complete(ranks: Sequence[int], cutoff: int) -> float:
    """Return CompleteRecall at a cutoff in percent, from the ranks at which the requests are complete."""
    return 100 * sum(rank <= cutoff for rank in ranks) / len(ranks)


def difference(ranks: Mapping[str, Sequence[int]], one: str, other: str, cutoff: int, *, stratum: str) -> Difference:
    """Return the difference of two systems on a set.

    :param ranks: system → the ranks at which the same requests are complete.
    :param stratum: the name of the set.
    """
    paired = [float(a <= cutoff) - float(b <= cutoff) for a, b in zip(ranks[one], ranks[other], strict=True)]
    means = resampled_means(np.array(paired, dtype=np.float32)[:, None], resamples=_RESAMPLES, seed=0, stratum=stratum)
    low, high = interval(means)
    return Difference(100 * float(np.mean(paired)), 100 * float(low[0]), 100 * float(high[0]))


def over_sets(values: Sequence[float]) -> OverSets:
    """Return the mean over at least two sets."""
    mean, freedom = float(np.mean(values)), len(values) - 1
    t = _T[freedom - 1] if freedom <= len(_T) else _T_BEYOND
    half = t * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return OverSets(mean, mean - half, mean + half, sign_flip_p(values))
