"""Ablations: the preset ``default`` with a feature taken away, to measure what the feature is worth. They are not served."""

from __future__ import annotations

from collections.abc import Mapping

from inference.encoder import Encoder
from retrieval.config import RetrievalConfig
from retrieval.graph_retriever import GraphRetriever
from retrieval.retriever import Retriever
from retrieval.snapshot.reader import Snapshot

__all__ = ["ABLATIONS", "make_ablations"]

ABLATIONS: Mapping[str, RetrievalConfig] = {
    "default-no-graph": RetrievalConfig(
        semantic_entries=False,
        ngram_entries=False,
        ego_candidates=False,
        graph_support=False,
        resolver_boost=False,
        dependency_expansion=False,
        dependency_edges=False,
    ),
    "default-no-ego-candidates": RetrievalConfig(ego_candidates=False),
    "default-no-support": RetrievalConfig(graph_support=False),
    "default-no-resolvers": RetrievalConfig(resolver_boost=False),
    "default-no-dependency-expansion": RetrievalConfig(dependency_expansion=False),
    "default-no-dependencies": RetrievalConfig(dependency_edges=False),
    "default-no-semantic-entries": RetrievalConfig(semantic_entries=False),
    "default-no-ngrams": RetrievalConfig(ngram_entries=False),
    "default-no-text-pools": RetrievalConfig(text_pools=False),
    "default-no-clauses": RetrievalConfig(clause_fusion=False),
    "default-no-bm25": RetrievalConfig(bm25_text=False),
    "default-no-bm25-params": RetrievalConfig(bm25_params=False),
    "default-no-bm25-returns": RetrievalConfig(bm25_returns=False),
    "default-no-bm25-values": RetrievalConfig(bm25_values=False),
    "default-no-cosine": RetrievalConfig(cosine_text=False),
    "default-no-cosine-name": RetrievalConfig(cosine_name=False),
    "default-no-name-coverage": RetrievalConfig(name_coverage=False),
}


def make_ablations(snapshot: Snapshot, encoder: Encoder) -> dict[str, Retriever]:
    """Every ablation over one snapshot, by name."""
    return {
        name: GraphRetriever(snapshot, encoder, name=name, config=config, weights=snapshot.weights)
        for name, config in ABLATIONS.items()
    }
