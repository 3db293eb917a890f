"""Ranking the candidates: the table of features, their fusion, clause fusion, reranking by a model, and confidence."""

from retrieval.ranking.features import FEATURES, Feature
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.weights import SHIPPED, RankingWeights

__all__ = ["FEATURES", "SHIPPED", "Feature", "Ranking", "RankingWeights"]
