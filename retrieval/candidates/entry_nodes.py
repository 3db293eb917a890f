"""Entry nodes: where a request touches the graph (paper, section 3.3.1 and algorithm 2, lines 13-17)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrieval.query.query import Query
from retrieval.snapshot.reader import Snapshot

__all__ = ["SEMANTIC_ENTRIES", "EntryNode", "ngram_entries", "semantic_entries"]

SEMANTIC_ENTRIES = 10  # paper: the top-10 most similar nodes


@dataclass(frozen=True, slots=True)
class EntryNode:
    """A node that the request matches.

    :param kind: ``semantic`` or ``ngram``.
    :param text: the n-gram, or empty for a semantic match.
    :param score: cosine, or the n-gram's inverse document frequency over the tools.
    """

    node: int
    kind: str
    text: str
    score: float


def semantic_entries(
    snapshot: Snapshot, query: Query, allowed: NDArray[np.bool_] | None, *, k: int = SEMANTIC_ENTRIES
) -> list[EntryNode]:
    """The ``k`` nodes of any type nearest to the request, best first."""
    if query.vector_D is None:
        return []
    nodes, scores = snapshot.vectors.nearest(query.vector_D, k, allowed=allowed)
    return [EntryNode(int(node), "semantic", "", float(score)) for node, score in zip(nodes, scores, strict=True)]


def ngram_entries(snapshot: Snapshot, query: Query, allowed: NDArray[np.bool_] | None) -> list[EntryNode]:
    """Every node whose canonical name is a unigram, bigram or trigram of the request, longest n-gram first."""
    found: dict[int, EntryNode] = {}
    for ngram, nodes in zip(query.ngrams, snapshot.ngrams.many(query.ngrams), strict=True):
        for node in map(int, nodes):
            if node in found or (allowed is not None and not allowed[node]):
                continue
            found[node] = EntryNode(node, "ngram", ngram, snapshot.rarity(node))
    return list(found.values())
