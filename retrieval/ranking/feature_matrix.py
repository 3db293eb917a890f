"""The feature matrix of one request: the input of the weighted sum, so that other weights are tried in microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from retrieval.query.context import QueryContext
from retrieval.ranking.clause_fusion import clause_scores, fuse_clauses
from retrieval.ranking.features import FEATURES, compute_features
from retrieval.ranking.system_coherence import SystemEvidence, system_evidence
from retrieval.ranking.weights import RankingWeights
from retrieval.ranking.z_scores import bounded, standardise

__all__ = ["FeatureMatrix", "feature_matrix", "weighted_sum"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureMatrix:
    """The features of the candidates of one request.

    :param tools: numbers of the candidates, ascending and distinct.
    :param standardised: feature → z-scores, float32 [tools], in the order in which they are added up.
    :param raw: feature → its values, float32 [tools]; empty where only the z-scores are known.
    :param systems: the systems of the tools; None where system coherence is not used.
    :param clauses_CT: how well each tool matches each clause, z-scores, float32 [clauses, tools]; no row without clause fusion.
    """

    tools: NDArray[np.int64]
    standardised: Mapping[str, Floats1d]
    clauses_CT: Floats2d
    raw: Mapping[str, Floats1d] = field(default_factory=dict)
    systems: SystemEvidence | None = None

    def scores(self, weights: RankingWeights) -> Floats1d:
        """The score of each tool, float32 [tools]: the weighted sum of the features, clause fusion, and system coherence."""
        if not self.standardised:  # the encoder is down, and only cosines have a weight
            return np.zeros(len(self.tools), dtype=np.float32)
        whole = weighted_sum(self.standardised, weights)
        if not self.clauses_CT.size or not weights.clause_fusion:
            return whole
        whole = standardise(whole)
        fused: Floats1d = whole + weights.clause_fusion * fuse_clauses(self.clauses_CT, whole)
        if self.systems is None or not weights.system_coherence:
            return fused
        return fused + weights.system_coherence * self.systems.log_shares(self.clauses_CT, fused)


def feature_matrix(
    context: QueryContext, weights: RankingWeights | None = None, *, unbounded: bool = False
) -> FeatureMatrix:
    """The matrix of all features, whatever their weights.

    :param weights: with them only what has a weight is computed.
    :param unbounded: whether the z-scores have no bound (:func:`retrieval.ranking.z_scores.bounded`), as in the baselines.
    """
    names = [feature.name for feature in FEATURES if weights is None or weights[feature.name]]
    raw = compute_features(context, context.candidates, names)
    z_FT = standardise(np.asarray([*raw.values()], dtype=np.float32))
    clauses = weights is None or weights.clause_fusion
    return FeatureMatrix(
        tools=context.candidates,
        standardised=dict(zip(raw, z_FT if unbounded else bounded(z_FT), strict=True)),
        clauses_CT=clause_scores(context) if clauses else np.empty((0, 0), dtype=np.float32),
        raw=raw,
        systems=system_evidence(context) if weights is None or weights.system_coherence else None,
    )


def weighted_sum(standardised: Mapping[str, Floats1d], weights: Mapping[str, float]) -> Floats1d:
    """The weighted sum of at least one standardised feature, float32 of their shape; added up in their order."""
    scores = np.zeros_like(next(iter(standardised.values())))
    for name, values in standardised.items():
        scores += weights[name] * values
    return scores
