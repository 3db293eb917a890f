"""Coverage: how much of a tool's name a request says, by the rarity of its words among the names.

BM25 of a name asks how much of the *request* the name says, and so rates ``get_order`` and ``get_order_history`` alike where
the history was never mentioned. Coverage asks the other way round.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from inference.arrays import Floats1d
from ontology.tool import Tool
from retrieval.index.analysis import terms
from retrieval.index.bm25 import Bm25Index, Postings, gather_postings

__all__ = ["covered", "make_coverage", "name_terms"]


def name_terms(tool: Tool) -> list[str]:
    """The index terms of a tool's title, and of its name where that is another."""
    return terms(tool.title) + (terms(tool.name) if tool.title != tool.name else [])


def make_coverage(names: Sequence[Sequence[str]]) -> Postings:
    """For each term the tools whose name has it, with the term's share of the rarity of that name, in (0, 1].

    :param names: the terms of each tool's name, in tool order.
    """
    seen = Counter(term for name in names for term in set(name))
    rarity = {term: math.log1p(len(names) / (1 + count)) for term, count in seen.items()}
    entries: dict[str, list[tuple[int, float]]] = {}
    for number, name in enumerate(names):
        said = sorted(set(name))
        total = sum(rarity[term] for term in said)
        for term in said:
            entries.setdefault(term, []).append((number, rarity[term] / total))
    return gather_postings(entries)


def covered(index: Bm25Index, query_terms: Sequence[str]) -> Floats1d:
    """The share of each tool's name that the terms say, float32 [tools], in [0, 1]."""
    return index.scores(sorted(set(query_terms)))
