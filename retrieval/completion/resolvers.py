"""Completing the set: the tools that the best tools cannot do without.

A tool that needs the identifier of an entity is of no use unless something turns the words of the request into that
identifier. So the resolvers of the best tools are lifted to just below the tool that needs them, in proportion to the
confidence of the edge. Evidence and budget, not closure: only the best few tools pull, each only its best resolvers, and
none where the request itself gives an identifier.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from retrieval.query.query import Query
from retrieval.ranking.fusion import Ranking
from retrieval.snapshot.reader import Snapshot

__all__ = ["ResolversOf", "complete", "contains_identifier", "lifted", "resolvers"]

ResolversOf: TypeAlias = Callable[[int], Sequence[tuple[int, float]]]
"""The best resolvers of a tool with their confidence, best first."""

_PULLING = 3  # the best so many tools pull
_RESOLVERS = 2  # each at most so many
_LEAST = 0.5  # confidence below which an edge does not pull
# A resolver of confidence 0 ends this many standard deviations of the scores further down than one of confidence 1.
_RELUCTANCE = 1.0
_TOKEN = re.compile(r"[\w-]+")
_YEAR = re.compile(r"(19|20)\d\d")
_IDENTIFIER_CHARS = 4


def complete(
    ranking: Ranking, query: Query, tools: NDArray[np.int64], resolvers_of: ResolversOf, *, margin: float
) -> Ranking:
    """Lift the resolvers of the best tools, unless the request gives an identifier itself."""
    scores = ranking.scores
    if len(tools) and not contains_identifier(query.text):
        scores = lifted(scores, tools, resolvers_of, margin=margin)
    return Ranking(scores=scores, features={**ranking.features, "resolver_boost": scores - ranking.scores})


def lifted(scores: Floats1d, tools: NDArray[np.int64], resolvers_of: ResolversOf, *, margin: float) -> Floats1d:
    """The scores with the resolvers of the best tools lifted; none falls, and no tool enters that was no candidate.

    :param tools: at least one, ascending; ``scores`` has one for each.
    :param margin: a resolver of confidence 1 ends this many standard deviations of the scores below the tool that needs it.
    """
    after = scores.copy()
    spread = float(scores.std()) or 1.0
    for place in np.lexsort((tools, -scores))[:_PULLING]:
        for resolver, confidence in resolvers_of(int(tools[place])):
            at = int(np.searchsorted(tools, resolver))
            if at < len(tools) and tools[at] == resolver:
                fall = (margin + _RELUCTANCE * (1.0 - confidence)) * spread
                after[at] = max(after[at], scores[place] - fall)
    return after


@lru_cache(maxsize=4_096)  # a request is asked again with every weight that is tried
def contains_identifier(text: str) -> bool:
    """Whether a request holds something that looks like an identifier: a longer token with a digit that is no year."""
    return any(
        len(token) >= _IDENTIFIER_CHARS and any(map(str.isdigit, token)) and not _YEAR.fullmatch(token)
        for token in _TOKEN.findall(text)
    )


def resolvers(snapshot: Snapshot, tool: int) -> list[tuple[int, float]]:
    """The best resolvers of a tool with their confidence, best first; of a snapshot that has the predicate."""
    wanted = snapshot.predicates.index("resolved_by")
    adjacency = snapshot.adjacency
    best: dict[int, float] = {}
    for edge in adjacency.out_edges(tool):
        confidence = float(adjacency.confidences[edge])
        if adjacency.predicates[edge] == wanted and confidence >= _LEAST:
            resolver = adjacency.tail(int(edge))
            best[resolver] = max(best.get(resolver, 0.0), confidence)
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))[:_RESOLVERS]
