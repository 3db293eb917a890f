"""Ranking the candidates: the table of features, their fusion, clause fusion, reranking by a model, and confidence."""
