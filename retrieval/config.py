"""RetrievalConfig: one for each feature of ego graph retrieval, so that presets and ablations are values, not code."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEPENDENCIES", "RetrievalConfig"]

# The predicates by which one tool needs another.
DEPENDENCIES = frozenset({"depends_on", "resolved_by", "supplies"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalConfig:
    """Which features a retriever uses.

    :param semantic_entries: the nodes nearest to the request are entry nodes.
    :param ngram_entries: the nodes that the request names are entry nodes.
    :param ego_candidates: the tools of the ensemble of ego graphs are candidates.
    :param text_pools: the best tools of text search, lexical and semantic, are candidates.
    :param graph_support: the ensemble speaks for the tools in it.
    :param resolver_boost: the resolvers of the best tools are lifted.
    :param dependency_expansion: what the best tools cannot work without is lifted.
    :param dependency_edges: the edges by which tools need each other (:data:`DEPENDENCIES`) are seen at all.
    :param bm25_text: BM25 of title and description ranks the candidates.
    :param bm25_params: BM25 of the parameters ranks them.
    :param bm25_returns: BM25 of the outputs ranks them.
    :param bm25_values: BM25 of the values that inputs may have ranks them.
    :param cosine_text: the cosine of title and description ranks them.
    :param cosine_name: the cosine of the name ranks them.
    :param name_coverage: how much of the name the request says ranks them.
    :param clause_fusion: the clauses of the request vote for the tools that answer them.
    """

    semantic_entries: bool = True
    ngram_entries: bool = True
    ego_candidates: bool = True
    text_pools: bool = True
    graph_support: bool = True
    resolver_boost: bool = True
    dependency_expansion: bool = True
    dependency_edges: bool = True
    bm25_text: bool = True
    bm25_params: bool = True
    bm25_returns: bool = True
    bm25_values: bool = True
    cosine_text: bool = True
    cosine_name: bool = True
    name_coverage: bool = True
    clause_fusion: bool = True
