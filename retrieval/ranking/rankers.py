"""The interface ``Ranker``: scores for the candidates of a request, by the embedded fusion of features or by a model."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from inference.arrays import Floats1d
from inference.reranker import Reranker
from retrieval.index.text_fields import whole_text
from retrieval.query.context import QueryContext
from retrieval.ranking.clause_fusion import clause_scores
from retrieval.ranking.feature_matrix import FeatureMatrix
from retrieval.ranking.features import compute_features
from retrieval.ranking.fusion import standardise
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.weights import BASELINE, BASELINE_FUSION, RankingWeights

__all__ = ["CrossEncoderRanker", "FusionRanker", "Ranker", "rank_with_fallback"]

_DOCUMENT_CHARS = 2_000


class Ranker(Protocol):
    """Scores the candidates of a request."""

    @property
    def name(self) -> str:
        """Versioned name, ``fusion.v1``."""

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates; higher is better.

        :raises ModelError: when a model is needed and down.
        """


class FusionRanker:
    """The embedded ranker: features as z-scores over the candidates of this request, added up with their weights.

    Only features with a weight are computed.

    :param name: versioned name.
    """

    def __init__(self, weights: RankingWeights = BASELINE, *, name: str = BASELINE_FUSION) -> None:
        self.name = name
        self._weights = weights

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates."""
        weights = self._weights
        names = [name for name, weight in weights.features.items() if weight]
        raw = compute_features(context, context.candidates, names)
        matrix = FeatureMatrix(
            tools=context.candidates,
            standardised={name: standardise(values) for name, values in raw.items()},
            clauses_CT=clause_scores(context) if weights.clause_fusion else np.empty((0, 0), dtype=np.float32),
        )
        return Ranking(tools=context.candidates, scores=matrix.scores(weights), features=raw)


class CrossEncoderRanker:
    """A cross-encoder, embedded or behind HTTP, over the texts of all candidates."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker

    @property
    def name(self) -> str:
        """The reranker's name."""
        return self._reranker.name

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates.

        :raises ModelError: when the model is down.
        """
        tools = context.candidates
        documents = [whole_text(context.snapshot.tool(int(number)))[:_DOCUMENT_CHARS] for number in tools]
        scores: Floats1d = self._reranker.score(context.query.text, documents)
        return Ranking(tools=tools, scores=scores, features={"reranker": scores})


def rank_with_fallback(context: QueryContext, ranker: Ranker, fallback: FusionRanker) -> Ranking:
    """Rank by ``ranker``; by ``fallback`` where its model is down, and the answer reports it."""
    ranking = context.attempt(lambda: ranker.rank(context), f"reranked by {fallback.name}")
    return fallback.rank(context) if ranking is None else ranking
