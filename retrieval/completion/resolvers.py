"""Resolver boosting: the tools that turn words into the identifiers that the best tools need.

A tool that needs the identifier of an entity cannot be called unless another tool finds that identifier from the words of the
request. So the scores of the best tools' resolvers are raised to just below the tool that needs them, less for an uncertain
edge. Only the best few tools raise others, each only its best resolvers, and none where the request holds an identifier.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from inference.arrays import Floats1d
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot

__all__ = ["RESOLVED_BY", "Resolver", "ResolversOf", "boost_resolvers", "contains_identifier", "resolvers"]

RESOLVED_BY = "resolved_by"
_SOURCES = 3  # how many of the best tools raise others
_MAX_RESOLVERS = 2  # how many each of them raises
_MIN_CONFIDENCE = 0.5
_UNCERTAINTY_PENALTY = 1.0  # standard deviations of the scores, for a resolver of confidence 0
_TOKEN = re.compile(r"[\w-]+")
_YEAR = re.compile(r"(19|20)\d\d")
_MIN_IDENTIFIER_CHARS = 4


class Resolver(NamedTuple):
    """A tool that resolves an input of another, with the confidence of the edge in [0, 1]."""

    tool: int
    confidence: float


ResolversOf: TypeAlias = Callable[[int], Sequence[Resolver]]
"""The best resolvers of a tool, best first."""


def boost_resolvers(ranking: Ranking, resolvers_of: ResolversOf, *, margin: float, identified: bool) -> Ranking:
    """Raise the scores of the best tools' resolvers; no score falls, and no tool joins that was no candidate.

    The feature ``resolver_boost`` is by how much each was raised.

    :param margin: a resolver of confidence 1 ends this many standard deviations of the scores below the tool that needs it.
    :param identified: whether the request holds an identifier: then nothing is raised.
    """
    scores = ranking.scores
    if len(ranking.tools) and not identified:
        scores = _boosted(ranking, resolvers_of, margin)
    features = {**ranking.features, "resolver_boost": scores - ranking.scores}
    return Ranking(tools=ranking.tools, scores=scores, features=features)


def _boosted(ranking: Ranking, resolvers_of: ResolversOf, margin: float) -> Floats1d:
    tools, scores = ranking.tools, ranking.scores
    after = scores.copy()
    spread = float(scores.std()) or 1.0
    for place in ranking.best(_SOURCES):
        for resolver in resolvers_of(int(tools[place])):
            at = int(np.searchsorted(tools, resolver.tool))
            if at < len(tools) and tools[at] == resolver.tool:
                penalty = (margin + _UNCERTAINTY_PENALTY * (1.0 - resolver.confidence)) * spread
                after[at] = max(after[at], scores[place] - penalty)
    return after


def contains_identifier(text: str) -> bool:
    """Whether a request holds something that looks like an identifier: a longer token with a digit that is no year."""
    return any(
        len(token) >= _MIN_IDENTIFIER_CHARS and any(map(str.isdigit, token)) and not _YEAR.fullmatch(token)
        for token in _TOKEN.findall(text)
    )


def resolvers(snapshot: Snapshot, tool: int) -> list[Resolver]:
    """The best resolvers of a tool, best first, ties by number; of a snapshot that has the predicate."""
    wanted = snapshot.predicates.index(RESOLVED_BY)
    adjacency = snapshot.adjacency
    best: dict[int, float] = {}
    for edge in adjacency.out_edges(tool):
        confidence = float(adjacency.confidences[edge])
        if adjacency.predicates[edge] == wanted and confidence >= _MIN_CONFIDENCE:
            resolver = adjacency.tail(int(edge))
            best[resolver] = max(best.get(resolver, 0.0), confidence)
    ordered = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    return [Resolver(number, confidence) for number, confidence in ordered[:_MAX_RESOLVERS]]
