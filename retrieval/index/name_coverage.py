"""Name coverage: the share of a tool's name that is in the request; each word counts by its inverse document frequency.

BM25 over names measures how much of the *request* the name contains. So it scores ``get_order`` and ``get_order_history``
alike for a request without "history". Coverage measures how much of the *name* the request contains.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from inference.arrays import Floats1d
from ontology.tool import Tool
from retrieval.index.analysis import terms
from retrieval.index.bm25 import Bm25Index, Postings, pack_postings

__all__ = ["coverage_scores", "make_coverage_postings", "name_terms"]


def name_terms(tool: Tool) -> list[str]:
    """Return the index terms of a tool's title, and of its name where the two differ."""
    return terms(tool.title) + (terms(tool.name) if tool.title != tool.name else [])


def make_coverage_postings(names: Sequence[Sequence[str]]) -> Postings:
    """Return for each term the tools with it in their name; the weight is the term's share of the name's IDF, in (0, 1].

    :param names: the terms of each tool's name, in tool order.
    """
    frequency = Counter(term for name in names for term in set(name))
    idf = {term: math.log1p(len(names) / (1 + count)) for term, count in frequency.items()}
    entries: dict[str, list[tuple[int, float]]] = {}
    for number, name in enumerate(names):
        distinct = sorted(set(name))
        total = sum(idf[term] for term in distinct)
        for term in distinct:
            entries.setdefault(term, []).append((number, idf[term] / total))
    return pack_postings(entries)


def coverage_scores(index: Bm25Index, query_terms: Sequence[str] | Mapping[str, float]) -> Floats1d:
    """Return the share of each tool's name that the query terms cover, float32 [tools], in [0, 1].

    :param query_terms: terms; or term → how much it counts, > 0, where more than 1 is 1.
    """
    weights = query_terms if isinstance(query_terms, Mapping) else dict.fromkeys(query_terms, 1.0)
    return index.scores({term: min(weights[term], 1.0) for term in sorted(weights)})
