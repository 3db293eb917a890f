"""The pulling tools: those that answer the request, or a clause of it, and so pull the tools that they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inference.arrays import Floats1d, Floats2d
from retrieval.query.context import QueryContext
from retrieval.query.query import Clause
from retrieval.ranking.clause_fusion import CLAUSE_FACTOR, clause_scores
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.z_scores import standardise

__all__ = ["Pulling", "lowest_direct_score", "pulling_tools"]

_BEST = 3
"""Tools that pull, whatever the clauses. One or two cost points on the sets restbench and apibank; five change nothing."""
_TRUSTED = 3
"""A clause has a direct answer where its best tool is among this many best tools for each clause. The best tool of a scrap of a sentence
is further down; it still pulls. Any number from 2 does as well."""


@dataclass(frozen=True, slots=True)
class Pulling:
    """A tool that pulls others.

    :param place: its place in the ranking's tools.
    :param parts: the clauses that it answers, or the whole request.
    :param direct: whether it is the trusted best tool of a clause.
    """

    place: int
    parts: tuple[Clause, ...]
    direct: bool = False


def pulling_tools(context: QueryContext, ranking: Ranking) -> list[Pulling]:
    """The best tools of a ranking, best first, then the best of each clause."""
    best = [int(place) for place in ranking.best(max(_BEST, _TRUSTED * len(context.query.clauses)))]
    clauses_CT = _clause_scores(context, ranking)
    if not len(clauses_CT):
        return [Pulling(place, (context.query,)) for place in best[:_BEST]]
    clauses = context.query.clauses
    answered: dict[int, list[Clause]] = {}
    best_C = (CLAUSE_FACTOR * clauses_CT + standardise(ranking.scores)).argmax(axis=1)  # of equal ones the first tool
    for clause, place in zip(clauses, best_C.tolist(), strict=True):
        answered.setdefault(place, []).append(clause)
    return [
        Pulling(
            place,
            tuple(answered.get(place) or (clauses[int(clauses_CT[:, place].argmax())],)),
            direct=place in answered and place in best,
        )
        for place in dict.fromkeys((*best[:_BEST], *answered))
    ]


def _clause_scores(context: QueryContext, ranking: Ranking) -> Floats2d:
    """How well each tool of the ranking matches each clause; no row where the request has one clause, or tools that were no candidates."""
    if not context.query.clauses:
        return np.empty((0, 0), dtype=np.float32)
    if ranking.tools is context.candidates:
        return clause_scores(context)
    if not np.isin(ranking.tools, context.candidates).all():
        return np.empty((0, 0), dtype=np.float32)
    return clause_scores(context)[
        :, np.searchsorted(context.candidates, ranking.tools)
    ]  # executed tools have left the ranking


def lowest_direct_score(scores: Floats1d, pulling: Sequence[Pulling]) -> float:
    """The lowest score of a trusted best tool of a clause; without one the highest score of a pulling tool."""
    direct = [float(scores[each.place]) for each in pulling if each.direct]
    return min(direct) if direct else max(float(scores[each.place]) for each in pulling)
