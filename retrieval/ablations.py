"""Ablations: the preset ``default`` with a signal taken away, to measure what the signal is worth. They are not served."""

from __future__ import annotations

from collections.abc import Mapping

from inference.encoder import Encoder
from retrieval.config import Switches
from retrieval.graph_retriever import GraphRetriever
from retrieval.retriever import Retriever
from retrieval.snapshot.reader import Snapshot

__all__ = ["ABLATIONS", "make_ablations"]

ABLATIONS: Mapping[str, Switches] = {
    "default-no-graph": Switches(
        semantic_entries=False,
        ngram_entries=False,
        ego_candidates=False,
        graph_support=False,
        resolver_lift=False,
        needs=False,
        dependency_edges=False,
    ),
    "default-no-ego-candidates": Switches(ego_candidates=False),
    "default-no-support": Switches(graph_support=False),
    "default-no-resolvers": Switches(resolver_lift=False),
    "default-no-needs": Switches(needs=False),
    "default-no-dependencies": Switches(dependency_edges=False),
    "default-no-semantic-entries": Switches(semantic_entries=False),
    "default-no-ngrams": Switches(ngram_entries=False),
    "default-no-text-pools": Switches(text_pools=False),
    "default-no-clauses": Switches(clause_votes=False),
    "default-no-bm25": Switches(bm25_text=False),
    "default-no-bm25-params": Switches(bm25_params=False),
    "default-no-bm25-returns": Switches(bm25_returns=False),
    "default-no-bm25-values": Switches(bm25_values=False),
    "default-no-cosine": Switches(cosine_text=False),
    "default-no-cosine-name": Switches(cosine_name=False),
    "default-no-name-coverage": Switches(name_coverage=False),
}


def make_ablations(snapshot: Snapshot, encoder: Encoder) -> dict[str, Retriever]:
    """Every ablation over one snapshot, by name."""
    return {
        name: GraphRetriever(snapshot, encoder, name=name, switches=switches, weights=snapshot.weights)
        for name, switches in ABLATIONS.items()
    }
