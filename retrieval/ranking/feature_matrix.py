"""The feature matrix of one request: the input of the weighted sum, so that other weights are tried in microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from retrieval.query.context import QueryContext
from retrieval.ranking.clause_fusion import clause_scores, fuse_clauses
from retrieval.ranking.features import FEATURES, compute_features
from retrieval.ranking.fusion import standardise, weighted_sum
from retrieval.ranking.weights import RankingWeights

__all__ = ["FeatureMatrix", "feature_matrix"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureMatrix:
    """The features of the candidates of one request.

    :param tools: numbers of the candidates, ascending and distinct.
    :param standardised: feature → z-scores, float32 [tools], in the order in which they are added up.
    :param clauses_CT: how well each tool matches each clause, z-scores, float32 [clauses, tools]; no row without clause fusion.
    """

    tools: NDArray[np.int64]
    standardised: Mapping[str, Floats1d]
    clauses_CT: Floats2d

    def scores(self, weights: RankingWeights) -> Floats1d:
        """The score of each tool, float32 [tools]: the weighted sum of the features, and clause fusion."""
        if not self.standardised:  # the encoder is down, and only cosines have a weight
            return np.zeros(len(self.tools), dtype=np.float32)
        whole = weighted_sum(self.standardised, weights)
        if not self.clauses_CT.size or not weights.clause_fusion:
            return whole
        whole = standardise(whole)
        return whole + weights.clause_fusion * fuse_clauses(self.clauses_CT, whole)


def feature_matrix(context: QueryContext) -> FeatureMatrix:
    """The matrix of all features, whatever their weights."""
    raw = compute_features(context, context.candidates, (feature.name for feature in FEATURES))
    return FeatureMatrix(
        tools=context.candidates,
        standardised={name: standardise(values) for name, values in raw.items()},
        clauses_CT=clause_scores(context),
    )
