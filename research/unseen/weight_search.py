"""Weights that are chosen without a catalogue: the mean of the best of some points that are drawn blindly.

The product's own search (:mod:`eval.tuning`) starts from the shipped weights, which were chosen on all sets. Here the
points are drawn around equal weights, the same ones for every set that is left out. So each point is valued once on each set, and every
system has the same budget. The mean of the best ones fits the noise of a few hundred requests less than the best one does:
coordinate descent from equal weights ended at the ends of its range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from research.unseen.switches import Switch, constant

if TYPE_CHECKING:
    from retrieval.ranking.weights import RankingWeights

__all__ = ["FACTORS", "FLAT", "Chosen", "SearchSpace", "best_mean"]

_FUSION = "retrieval.ranking.features"
FACTORS = {"clause_factor": f"{_FUSION}:CLAUSE_FACTOR", "whole_factor": f"{_FUSION}:_WHOLE_FACTOR"}
"""Two constants of clause fusion that were chosen on the nine sets too, so they are searched like weights."""
FLAT = ("bm25_text", "cosine_text", "cosine_name", "clause_fusion")
"""The weights of the flat rival. Its BM25 is of the whole text; it has the name of the weight."""
_OCTAVES = 2.0  # a quarter to four times
_OFF = 0.2  # how often a weight is off
_BEST = 10
_NEVER_OFF = ("resolver_margin", "cosine_text", *FACTORS)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a search chose.

    :param factors: the switches that put the two factors of clause fusion in their places.
    :param values: weights and factors by name.
    """

    weights: RankingWeights
    factors: tuple[Switch, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """The weights that are searched; all others are 0.

    :param names: of :class:`~retrieval.ranking.weights.RankingWeights`; the factors of clause fusion are added.
    """

    names: tuple[str, ...]

    @property
    def axes(self) -> tuple[str, ...]:
        """The weights and the factors."""
        return (*self.names, *FACTORS)

    def draw(self, count: int, *, seed: int) -> NDArray[np.float64]:
        """Return points, float64 [count, axes]: the first has all weights 1; of the others each weight is log-uniform from a quarter
        to 4, and now and then off.
        """
        generator = np.random.default_rng(seed)
        shape = (count, len(self.axes))
        points = 2.0 ** generator.uniform(-_OCTAVES, _OCTAVES, size=shape)
        off = generator.random(shape) < _OFF
        off[:, [name in _NEVER_OFF for name in self.axes]] = False
        points[off] = 0.0
        points[0] = 1.0
        return points

    def at(self, point: NDArray[np.float64]) -> Chosen:
        """Return the weights at a point, float64 [axes]."""
        from retrieval.ranking.weights import SHIPPED, RankingWeights

        values = {name: round(float(value), 6) for name, value in zip(self.axes, point, strict=True)}
        weights = {**dict.fromkeys(SHIPPED, 0.0), **{name: values[name] for name in self.names}}
        factors = tuple(Switch(target, constant(values[name])) for name, target in FACTORS.items())
        return Chosen(RankingWeights(**weights), factors, values)

    def _is_feature(self) -> NDArray[np.bool_]:
        from retrieval.ranking.weights import SHIPPED

        return np.array([name in SHIPPED.features for name in self.axes])

    def mean(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of points, float64 [axes]: only the proportions of the features count, so their sum is made the same first."""
        features = self._is_feature()
        scaled = points.copy()
        scaled[:, features] /= scaled[:, features].sum(axis=1, keepdims=True)
        mean: NDArray[np.float64] = scaled.mean(axis=0)
        mean[features] *= features.sum()
        return mean


def best_mean(space: SearchSpace, points: NDArray[np.float64], values: Sequence[float]) -> Chosen:
    """Return the weights at the mean of the best points; ties by their number."""
    best = np.argsort(-np.asarray(values), kind="stable")[:_BEST]
    return space.at(space.mean(points[best]))
