"""Entry nodes: the nodes that a request matches (paper, section 3.3.1 and algorithm 2, lines 13-17)."""

from __future__ import annotations

from retrieval.index.vectors import Nearest
from retrieval.query.context import EntryNode, QueryContext

__all__ = ["SEMANTIC_ENTRIES", "ngram_entries", "semantic_entries"]

SEMANTIC_ENTRIES = 10  # paper: the top-10 most similar nodes


def semantic_entries(
    context: QueryContext, *, k: int = SEMANTIC_ENTRIES, tools: Nearest | None = None
) -> list[EntryNode]:
    """Return the ``k`` allowed nodes of any type nearest to the request, best first; none where the query has no vector.

    :param tools: the nearest tools, ``k`` or more, where they are known.
    """
    if context.query.vector_D is None:
        return []
    nodes, scores = context.snapshot.vectors.nearest(context.query.vector_D, k, allowed=context.allowed, tools=tools)
    return [EntryNode(int(node), "semantic", "", float(score)) for node, score in zip(nodes, scores, strict=True)]


def ngram_entries(context: QueryContext) -> list[EntryNode]:
    """Return every allowed node whose canonical name is a unigram, bigram or trigram of the request, longest n-gram first."""
    snapshot, allowed, ngrams = context.snapshot, context.allowed, context.query.ngrams
    found: dict[int, EntryNode] = {}
    for ngram, nodes in zip(ngrams, snapshot.ngrams.many(ngrams), strict=True):
        for node in map(int, nodes):
            if node in found or (allowed is not None and not allowed[node]):
                continue
            found[node] = EntryNode(node, "ngram", ngram, snapshot.idf(node))
    return list(found.values())
