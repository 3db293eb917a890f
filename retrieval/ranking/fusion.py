"""Fusion: the embedded ranker adds up weighted features; it is also the fallback for a ranker whose model is down."""

from __future__ import annotations

from retrieval.query.context import QueryContext
from retrieval.ranking.feature_matrix import feature_matrix
from retrieval.ranking.ranking import Ranker, Ranking
from retrieval.ranking.weights import BASELINE, BASELINE_FUSION, RankingWeights

__all__ = ["FusionRanker", "rank_with_fallback"]


class FusionRanker:
    """The embedded ranker: features as z-scores over the candidates of this request, added up with their weights.

    Only features with a weight are computed.

    :param name: versioned name.
    :param bounded: whether z-scores have a bound (:func:`retrieval.ranking.z_scores.bounded`); those of the baselines have none.
    """

    def __init__(
        self, weights: RankingWeights = BASELINE, *, name: str = BASELINE_FUSION, bounded: bool = False
    ) -> None:
        self.name = name
        self._weights = weights
        self._bounded = bounded

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates."""
        matrix = feature_matrix(context, self._weights, unbounded=not self._bounded)
        return Ranking(tools=matrix.tools, scores=matrix.scores(self._weights), features=matrix.raw)


def rank_with_fallback(context: QueryContext, ranker: Ranker, fallback: FusionRanker) -> Ranking:
    """Rank by ``ranker``; by ``fallback`` where its model is down, and the answer reports it."""
    ranking = context.attempt(lambda: ranker.rank(context), f"reranked by {fallback.name}")
    return fallback.rank(context) if ranking is None else ranking
