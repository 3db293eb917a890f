"""Completing the set: the tools that the best tools cannot do without.

A tool that needs the identifier of an entity is of no use unless something turns the words of the request into that
identifier. So the resolvers of the best tools are lifted to just below the tool that needs them, in proportion to the
confidence of the edge. Evidence and budget, not closure: only the best few tools pull, each only its best resolvers, and
none where the request itself gives an identifier.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from retrieval.query import Query
from retrieval.ranking import Ranking
from retrieval.snapshot import Snapshot

__all__ = ["complete", "gives_identifier"]

_PULLING = 3  # the best so many tools pull
_RESOLVERS = 2  # each at most so many
_LEAST = 0.5  # confidence below which an edge does not pull
# A resolver of confidence 1 ends this many standard deviations of the scores below the tool that needs it, …
_MARGIN = 0.75
# … and one of confidence 0 so many further.
_RELUCTANCE = 1.0
_TOKEN = re.compile(r"[\w-]+")
_YEAR = re.compile(r"(19|20)\d\d")
_IDENTIFIER_CHARS = 4


def complete(snapshot: Snapshot, ranking: Ranking, query: Query, tools: NDArray[np.int64]) -> Ranking:
    """Lift the resolvers of the best tools; a score never falls, and no tool enters that was no candidate."""
    if not len(tools) or "resolved_by" not in snapshot.predicates:
        return ranking
    if gives_identifier(query.text):
        return Ranking(
            scores=ranking.scores, signals={**ranking.signals, "resolver_lift": np.zeros_like(ranking.scores)}
        )
    scores = ranking.scores.copy()
    spread = float(scores.std()) or 1.0
    for place in np.lexsort((tools, -ranking.scores))[:_PULLING]:
        for resolver, confidence in _resolvers(snapshot, int(tools[place])):
            at = int(np.searchsorted(tools, resolver))
            if at < len(tools) and tools[at] == resolver:
                fall = (_MARGIN + _RELUCTANCE * (1.0 - confidence)) * spread
                scores[at] = max(scores[at], ranking.scores[place] - fall)
    lift = scores - ranking.scores
    return Ranking(scores=scores, signals={**ranking.signals, "resolver_lift": lift})


def gives_identifier(text: str) -> bool:
    """Whether a request holds something that looks like an identifier: a longer token with a digit that is no year."""
    return any(
        len(token) >= _IDENTIFIER_CHARS and any(map(str.isdigit, token)) and not _YEAR.fullmatch(token)
        for token in _TOKEN.findall(text)
    )


def _resolvers(snapshot: Snapshot, tool: int) -> list[tuple[int, float]]:
    """The best resolvers of a tool with their confidence, best first."""
    wanted = snapshot.predicates.index("resolved_by")
    adjacency = snapshot.adjacency
    best: dict[int, float] = {}
    for edge in adjacency.out_edges(tool):
        confidence = float(adjacency.confidences[edge])
        if adjacency.predicates[edge] == wanted and confidence >= _LEAST:
            resolver = adjacency.tail(int(edge))
            best[resolver] = max(best.get(resolver, 0.0), confidence)
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))[:_RESOLVERS]
