"""Fit weights by cross-validation over groups of requests.

Each fold is measured with weights that were fitted without it. Within the requests of a fit, a weight moves only where all parts of
them support it (:mod:`eval.tuning.weight_search`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.tuning.cases import NEVER, Cases, soft_complete
from eval.tuning.labels import folds
from eval.tuning.weight_search import ORIGIN, Point, choose, moves, weights_at
from inference.arrays import Floats1d
from ontology.progress import Progress, no_progress
from retrieval.ranking.weights import SHIPPED, RankingWeights

__all__ = ["GENERATED_STRENGTH", "HELD", "STRENGTH", "Fitted", "fit_weights"]

STRENGTH = 0.003
"""The least mean gain for one squared octave of distance from the shipped weights."""
GENERATED_STRENGTH = 0.01
"""The same where the requests were generated. Chosen on requests that were generated from restbench, workbench and the shipped company,
and judged on the hand-made ones of the same catalogues: with a third or less of it, weights that gain on the generated requests lose up
to 3 points on the hand-made ones.
"""
HELD = ("resolver_margin",)
"""Weights that generated requests do not move: their gold sets are made of the edges that these weights judge."""
_OUTER = 5
_INNER = 4

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
    generated: bool = False,
    progress: Progress = no_progress,
) -> Fitted:
    """Fit weights to the cases, and cross-validate the fit.

    :param groups_Q: the group of each case, int64; no group is on both sides of any split.
    :param cutoffs: the values of k of CompleteRecall@k.
    :param generated: whether the requests were generated from the tool graph.
    """
    strength = GENERATED_STRENGTH if generated else STRENGTH
    fitting = _Fitting(cases, groups_Q, cutoffs, seed, strength, HELD if generated else ())
    fitting.measure(progress)
    everything = np.arange(len(cases), dtype=np.int64)
    held_out_Q = np.empty(len(cases), dtype=np.int64)
    fold_weights = []
    for tested in folds(groups_Q, _OUTER, seed):
        weights = weights_at(fitting.fit(np.setdiff1d(everything, tested)))
        held_out_Q[tested] = cases.completed_at(weights, tested)[tested]
        fold_weights.append(weights)
    weights = weights_at(fitting.fit(everything))
    return Fitted(
        weights=weights,
        strength=math.inf if weights == SHIPPED else strength,
        held_out_Q=held_out_Q,
        fold_weights=tuple(fold_weights),
    )


class _Fitting:
    """Fits to some of the cases, after all of them were measured at each move of one weight."""

    def __init__(
        self,
        cases: Cases,
        groups_Q: NDArray[np.int64],
        cutoffs: Sequence[int],
        seed: int,
        strength: float,
        held: Sequence[str],
    ) -> None:
        self._cases = cases
        self._groups_Q = groups_Q
        self._cutoffs = cutoffs
        self._seed = seed
        self._strength = strength
        self._points = moves(held)
        everything = np.arange(len(cases), dtype=np.int64)
        self._shipped_Q = self._objective(ORIGIN, everything)
        self._completable = everything[cases.completed_at(SHIPPED) != NEVER]
        self._gains_PQ = np.zeros((len(self._points), len(cases)), dtype=np.float32)

    def measure(self, progress: Progress) -> None:
        """Find what each move gains on each request. One that misses a gold tool with the shipped weights counts as missing it at all of
        them: hardly any move brings in a tool, and of a large catalogue they may be half of the requests.
        """
        rows = self._completable
        for place, point in enumerate(self._points):
            progress("fit", place, len(self._points))
            self._gains_PQ[place, rows] = self._objective(point, rows) - self._shipped_Q[rows]
        progress("fit", len(self._points), len(self._points))

    def fit(self, rows: Rows) -> Point:
        """Return the weights for these rows."""
        parts = [rows[part] for part in folds(self._groups_Q[rows], _INNER, self._seed)]

        def gain(point: Point) -> float:
            return float((self._objective(point, rows) - self._shipped_Q[rows]).mean(dtype=np.float64))

        return choose(self._points, self._gains_PQ, parts, self._strength, gain)

    def _objective(self, point: Point, rows: Rows) -> Floats1d:
        """Return the smooth CompleteRecall of each of these rows, float32; the cases remember their ranks."""
        ranks_Q = self._cases.completed_at(weights_at(point), rows)
        soft: Floats1d = soft_complete(ranks_Q, self._cutoffs)[rows]
        return soft
