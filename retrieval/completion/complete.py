"""Completion: a ranking in, the same with what its best tools cannot do without; the last step of ego graph retrieval."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from retrieval.completion.dependencies import (
    DEPENDS_ON,
    DependenciesOf,
    direct_dependencies,
    expand_dependencies,
    transitive_dependencies,
)
from retrieval.completion.resolvers import ResolversOf, complete, contains_identifier, resolvers
from retrieval.query.query import Query
from retrieval.ranking.fusion import Ranking
from retrieval.snapshot.reader import Snapshot

__all__ = ["Completion"]


class Completion:
    """Resolvers first, then what tools depend on: a resolver may have needs of its own.

    :param boosts: whether the resolvers of the best tools are lifted.
    :param expands: whether what the best tools depend on is.
    """

    def __init__(self, snapshot: Snapshot, *, boosts: bool, expands: bool) -> None:
        # A snapshot never changes: what a tool needs is looked up once.
        self._resolvers_of: ResolversOf | None = None
        if boosts and "resolved_by" in snapshot.predicates:
            self._resolvers_of = cache(partial(resolvers, snapshot))
        self._needs_of: dict[bool, DependenciesOf] = {}
        if expands and DEPENDS_ON in snapshot.predicates:
            direct = cache(partial(direct_dependencies, snapshot))
            self._needs_of = {
                given: cache(partial(transitive_dependencies, direct, given=given)) for given in (False, True)
            }

    def __call__(
        self,
        ranking: Ranking,
        query: Query,
        tools: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None,
        *,
        margin: float,
    ) -> tuple[Ranking, NDArray[np.int64]]:
        """The ranking completed, and its tools, which may be more.

        :param tools: the candidates, ascending; ``ranking`` has one score for each.
        :param allowed: the nodes that the request may see, bool [nodes]; None allows all.
        :param margin: as in :func:`retrieval.completion.resolvers.complete`.
        """
        if self._resolvers_of is not None:
            ranking = complete(ranking, query, tools, self._resolvers_of, margin=margin)
        if self._needs_of and len(tools):
            needs_of = self._needs_of[contains_identifier(query.text)]
            ranking, tools = expand_dependencies(ranking, tools, needs_of, allowed=allowed)
        return ranking, tools
