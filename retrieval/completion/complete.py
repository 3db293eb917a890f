"""Completion, the last step of ego graph retrieval: the tools that the best tools of a ranking need."""

from __future__ import annotations

from functools import cache, partial

from retrieval.completion.dependencies import (
    DEPENDS_ON,
    DependenciesOf,
    direct_dependencies,
    expand_dependencies,
    transitive_dependencies,
)
from retrieval.completion.resolvers import (
    RESOLVED_BY,
    ResolversOf,
    boost_resolvers,
    contains_identifier,
    resolvers,
)
from retrieval.config import RetrievalConfig
from retrieval.query.context import QueryContext
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot

__all__ = ["Completion"]


class Completion:
    """Boosts resolvers, then expands dependencies: a resolver may have dependencies of its own. Thread-safe."""

    def __init__(self, snapshot: Snapshot, config: RetrievalConfig) -> None:
        # A snapshot never changes, so what a tool needs is computed once.
        self._resolvers_of: ResolversOf | None = None
        if config.resolver_boost and RESOLVED_BY in snapshot.predicates:
            self._resolvers_of = cache(partial(resolvers, snapshot))
        self._dependencies_of: dict[bool, DependenciesOf] = {}
        if config.dependency_expansion and DEPENDS_ON in snapshot.predicates:
            direct = cache(partial(direct_dependencies, snapshot))
            self._dependencies_of = {
                identified: cache(partial(transitive_dependencies, direct, identified=identified))
                for identified in (False, True)
            }

    def complete(self, context: QueryContext, ranking: Ranking, *, margin: float) -> Ranking:
        """The completed ranking, which may have more tools.

        :param margin: as in :func:`retrieval.completion.resolvers.boost_resolvers`.
        """
        identified = contains_identifier(context.query.text)
        if self._resolvers_of is not None:
            ranking = boost_resolvers(ranking, self._resolvers_of, margin=margin, identified=identified)
        if self._dependencies_of and len(ranking.tools):
            dependencies_of = self._dependencies_of[identified]
            ranking = expand_dependencies(ranking, dependencies_of, allowed=context.allowed)
        return ranking
