"""The paired bootstrap: confidence intervals of means over requests, and of differences between systems.

Requests are drawn with replacement, as many as there are, many times (Efron and Tibshirani, An Introduction to the
Bootstrap, 1993, chapters 13 and 16). Every system is scored on the same draws, so that the difficulty of a request,
which is the same for all systems, cancels out in their difference (Koehn, Statistical Significance Tests for Machine
Translation Evaluation, EMNLP 2004; Sakai, Evaluating Evaluation Metrics based on the Bootstrap, SIGIR 2006).

The interval of a single request has no width, because all draws of one are the same. It does not mean certainty.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from ontology.errors import InvalidArgumentError

__all__ = ["check", "interval", "p_value", "resampled_means"]

_TAIL = 0.025  # on each side of a 95 % interval
_DRAWS_AT_ONCE = 1 << 20  # bounds the memory: 8 bytes each, a few times over
# The precision of means in float32; smaller differences count as 0.
_TIE = 1e-6


def check(*, resamples: int, seed: int) -> None:
    """Check the arguments of the bootstrap.

    :raises InvalidArgumentError: when ``resamples`` is below 1, or the seed is negative.
    """
    if resamples < 1:
        raise InvalidArgumentError(f"there must be at least one resample, not {resamples}", subject="resamples")
    if seed < 0:
        raise InvalidArgumentError(f"the seed must not be negative, it is {seed}", subject="seed")


def resampled_means(values_QC: NDArray[np.float32], *, resamples: int, seed: int, stratum: str) -> NDArray[np.float32]:
    """Return the mean of every column over each draw of the rows.

    :param values_QC: float32 [requests, columns]; all columns are averaged over the same draws.
    :param stratum: name of the set of requests. The draws depend only on it, the seed and the number of requests, and
        not on other strata.
    :returns: float32 [columns, resamples].
    """
    rows, columns = values_QC.shape
    generator = _generator(seed, stratum)
    means_CB = np.empty((columns, resamples), dtype=np.float32)
    at_once = max(1, _DRAWS_AT_ONCE // rows)
    for start in range(0, resamples, at_once):
        size = min(at_once, resamples - start)
        drawn = generator.integers(0, rows, size=(size, rows), dtype=np.int64)
        drawn += np.arange(size, dtype=np.int64)[:, None] * rows
        times_BQ = np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows).astype(np.float32)
        np.matmul(values_QC.T, times_BQ.T, out=means_CB[:, start : start + size])
    means_CB /= np.float32(rows)
    return means_CB


def interval(means_CB: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the lower and upper ends of the 95 % percentile intervals, float32 [columns] each."""
    # As np.quantile does it, which partitions: of means of few requests, most of them equal, that takes many times as long.
    sorted_CB = np.sort(means_CB, axis=1)
    low, high = (_quantile_of_sorted(sorted_CB, share) for share in (_TAIL, 1 - _TAIL))
    return low, high


def _quantile_of_sorted(sorted_CB: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    """Interpolate between the two draws around the quantile, from the nearer one as numpy does, so that nothing is rounded otherwise."""
    at = share * (sorted_CB.shape[1] - 1)
    below = int(at)
    weight = at - below
    lower_C, upper_C = sorted_CB[:, below].astype(np.float64), sorted_CB[:, min(below + 1, sorted_CB.shape[1] - 1)]
    step_C = (upper_C - sorted_CB[:, below]).astype(np.float64)
    found_C: NDArray[np.float64] = lower_C + step_C * weight if weight < 0.5 else upper_C - step_C * (1 - weight)
    return found_C.astype(np.float32)


def p_value(differences_CB: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return two-sided p-values of differences, float64 [columns], in (0, 1].

    Twice the share of draws on the rarer side of 0. Draws without a difference count on both sides, and one is added
    to count and total, so the number of draws limits how small p can be (Davison and Hinkley, 1997, section 4.2).
    Systems with the same answers have p = 1.
    """
    resamples = differences_CB.shape[1]
    below = np.count_nonzero(differences_CB <= _TIE, axis=1)
    above = np.count_nonzero(differences_CB >= -_TIE, axis=1)
    tail: NDArray[np.float64] = (1 + np.minimum(below, above)) / (resamples + 1)
    return np.clip(2 * tail, 0.0, 1.0)


def _generator(seed: int, stratum: str) -> np.random.Generator:
    name = int.from_bytes(hashlib.sha256(stratum.encode("utf-8", "surrogatepass")).digest()[:16], "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, name])))
