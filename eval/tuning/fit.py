"""Fit weights by nested cross-validation over groups of requests.

The inner cross-validation chooses the regularisation strength, which pulls the weights towards the shipped ones. The
outer one measures, for each fold, the weights that were fitted and chosen without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eval.tuning.cases import Cases, soft_complete
from eval.tuning.labels import folds
from eval.tuning.weight_search import ORIGIN, Point, distance, search, weights_at
from ontology.progress import Progress, no_progress
from retrieval.ranking.weights import RankingWeights

__all__ = ["Fitted", "fit_weights"]

# The minimum mean gain for one squared octave of distance from the shipped weights; infinite keeps the shipped weights.
_STRENGTHS = (math.inf, 0.003, 0.001, 0.0003)
_OUTER = 5
_INNER = 4
_GAIN = 1e-9

Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Fitted weights, with their cross-validated result.

    :param weights: weights fitted on all rows.
    :param strength: regularisation strength, > 0; infinite where the weights are the shipped ones.
    :param held_out_Q: for each row the rank at which it is complete with weights that were fitted without its group,
        int64.
    :param fold_weights: these weights, one for each outer fold.
    """

    weights: RankingWeights
    strength: float
    held_out_Q: NDArray[np.int64]
    fold_weights: tuple[RankingWeights, ...]


def fit_weights(
    cases: Cases,
    groups_Q: NDArray[np.int64],
    *,
    cutoffs: Sequence[int],
    seed: int,
    progress: Progress = no_progress,
) -> Fitted:
    """Fit weights to the cases, and cross-validate the fit.

    :param groups_Q: the group of each case, int64; no group is on both sides of any split.
    :param cutoffs: the values of k of CompleteRecall@k.
    """
    fitting = _Fitting(cases, groups_Q, cutoffs, seed)
    everything = np.arange(len(cases), dtype=np.int64)
    outer = folds(groups_Q, _OUTER, seed)
    held_out_Q = np.empty(len(cases), dtype=np.int64)
    fold_weights = []
    for at, tested in enumerate(outer):
        progress("fit", at, _OUTER + 1)
        weights = weights_at(fitting.fit(np.setdiff1d(everything, tested)).point)
        held_out_Q[tested] = cases.completed_at(weights, tested)[tested]
        fold_weights.append(weights)
    progress("fit", _OUTER, _OUTER + 1)
    chosen = fitting.fit(everything)
    progress("fit", _OUTER + 1, _OUTER + 1)
    return Fitted(
        weights=weights_at(chosen.point),
        strength=chosen.strength,
        held_out_Q=held_out_Q,
        fold_weights=tuple(fold_weights),
    )


class _Regularised(NamedTuple):
    point: Point
    strength: float


class _Fitting:
    def __init__(self, cases: Cases, groups_Q: NDArray[np.int64], cutoffs: Sequence[int], seed: int) -> None:
        self._cases = cases
        self._groups_Q = groups_Q
        self._cutoffs = cutoffs
        self._seed = seed
        self._ceiling_Q = soft_complete(cases.least_ranks(), cutoffs)

    def fit(self, rows: Rows) -> _Regularised:
        """Return the weights for these rows, with the strength that is best in cross-validation within the rows."""
        inner = [rows[fold] for fold in folds(self._groups_Q[rows], _INNER, self._seed)]
        starts = [ORIGIN] * len(inner)
        best, chosen = -math.inf, math.inf
        for strength in _STRENGTHS:
            total = 0.0
            for at, tested in enumerate(inner):
                starts[at] = self._search(np.setdiff1d(rows, tested), strength, starts[at])
                total += float(self._objective(starts[at], tested).sum())
            if total / len(rows) > best + _GAIN:
                best, chosen = total / len(rows), strength
        point = ORIGIN
        for strength in _STRENGTHS[: _STRENGTHS.index(chosen) + 1]:
            point = self._search(rows, strength, point)
        return _Regularised(point, chosen)

    def _search(self, rows: Rows, strength: float, start: Point) -> Point:
        """Return the best weights for the rows, starting from the weights of the next greater strength."""
        if math.isinf(strength):
            return ORIGIN
        return search(_Value(self._objective, rows, strength, self._ceiling_Q), start)

    def _objective(self, point: Point, rows: Rows) -> NDArray[np.float32]:
        """Return the smooth CompleteRecall of each of these rows; the cases remember their ranks, as folds have rows in common."""
        return soft_complete(self._cases.completed_at(weights_at(point), rows), self._cutoffs)[rows]


class _Value:
    """The value of weights for some rows, which a search maximises.

    A point that can be no better than the best so far has an upper bound as its value: then the rows that are at their
    ceiling with the best weights need not be ranked. Rounding keeps the order of two sums, so the search takes the same points.

    :param objective: the smooth CompleteRecall of rows at a point.
    :param ceiling_Q: the most that it can be for each case, float32.
    """

    def __init__(
        self,
        objective: Callable[[Point, Rows], NDArray[np.float32]],
        rows: Rows,
        strength: float,
        ceiling_Q: NDArray[np.float32],
    ) -> None:
        self._objective = objective
        self._rows = rows
        self._strength = strength
        self._ceiling = ceiling_Q[rows]
        self._best = -math.inf
        self._below = np.ones(len(rows), dtype=bool)  # which rows are below their ceiling with the best weights

    def __call__(self, point: Point) -> float:
        less = self._strength * distance(point)
        bounds = self._ceiling.copy()
        bounds[self._below] = self._objective(point, self._rows[self._below])
        bound = float(bounds.mean()) - less
        if bound <= self._best:
            return bound
        soft = self._objective(point, self._rows)
        value = float(soft.mean()) - less
        if value > self._best:
            self._best, self._below = value, soft < self._ceiling
        return value
