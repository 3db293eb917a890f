"""Completion, the last step of ego graph retrieval: the tools that must be called before those that answer a request.

The best tools of the ranking and the best tool of each clause *pull*: each gets a plan (:mod:`retrieval.completion.plan`) of the tools
that supply its open inputs. A supporting tool ends below the tool that it serves by the cost of its plan. Unless a document says that it
must go first, it also ends below the best tool of every clause, so it never takes the place of a direct answer. What several tools need
takes one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from retrieval.completion.given import GivenInputs
from retrieval.completion.needs import DEPENDS_ON, RESOLVED_BY, SUPPLIES, Need, NeedsOf, tool_needs
from retrieval.completion.own_profile import resolved_by_own_profile, speaks_of_self
from retrieval.completion.plan import Costs, plan
from retrieval.completion.proper_names import has_proper_name
from retrieval.completion.pulling import Pulling, lowest_direct_score, pulling_tools
from retrieval.config import RetrievalConfig
from retrieval.query.context import QueryContext
from retrieval.query.known_values import known_value
from retrieval.query.query import Clause
from retrieval.query.supporting_tool import SupportingTool
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot

__all__ = ["Completion", "place_supporting", "with_tools"]

_CACHED_TOOLS = 20_000
"""Tools whose needs are kept in memory, about 1 KiB each."""
_BELOW = 1e-3
"""How far a supporting tool ends at least below the best tool of a clause, in standard deviations of the scores."""
_DEFAULT_COSTS = Costs()


class Completion:
    """Completes rankings of one snapshot. Thread-safe.

    :param costs: of the plans; the margin of resolvers comes with each request.
    """

    def __init__(self, snapshot: Snapshot, config: RetrievalConfig, costs: Costs = _DEFAULT_COSTS) -> None:
        followed = {RESOLVED_BY, SUPPLIES} if config.resolver_boost else set()
        followed |= {DEPENDS_ON} if config.dependency_expansion else set()
        self._predicates = frozenset(followed & set(snapshot.predicates))
        self._costs = costs
        self._own_profiles = RESOLVED_BY in followed and bool(snapshot.own_profiles)
        self._needs_of: NeedsOf = lru_cache(_CACHED_TOOLS)(partial(tool_needs, snapshot, self._predicates))

    def complete(self, context: QueryContext, ranking: Ranking, *, margin: float) -> Ranking:
        """The completed ranking, which may have more tools; no score falls. The context records the supporting tools.

        :param margin: how many standard deviations of the scores a resolver of confidence 1 ends below the tool that needs it.
        """
        if not self._predicates or not len(ranking.tools):
            return ranking
        pulling = pulling_tools(context, ranking)
        context.supporting = tuple(self.supporting_tools(context, ranking, pulling, margin=margin))
        highest = lowest_direct_score(ranking.scores, pulling)
        completed = place_supporting(ranking, context.supporting, highest=highest)
        return replace(
            completed, features={**completed.features, **self._boosts(completed, ranking, context.supporting)}
        )

    def supporting_tools(
        self, context: QueryContext, ranking: Ranking, pulling: Sequence[Pulling], *, margin: float
    ) -> list[SupportingTool]:
        """The plans of the pulling tools, one after the other; a tool may be in several.

        :param margin: as in :meth:`complete`.
        """
        named = has_proper_name(context.query, context.snapshot.fields["whole"].frequency)
        given = GivenInputs(context.query, named=named)
        costs = replace(self._costs, resolver=margin)
        standing = _standing(ranking)
        found: list[SupportingTool] = []
        for each in pulling:
            tool = int(ranking.tools[each.place])
            found += plan(tool, partial(self._open_needs, context, given, tool, each.parts), costs, standing)
        return found

    def _open_needs(
        self, context: QueryContext, given: GivenInputs, answers: int, parts: Sequence[Clause], tool: int
    ) -> list[Need]:
        """What the request leaves open of a tool, with the suppliers that it may see."""
        needs = [need for need in self._needs_of(tool) if not _is_met(context, need)]
        if self._own_profiles and tool == answers and speaks_of_self(parts):
            needs = [resolved_by_own_profile(context.snapshot, tool, need) for need in needs]
        needs = given.open_needs(tool, needs, parts if tool == answers else ())
        allowed = context.allowed
        if allowed is None:
            return needs
        return [replace(need, suppliers=tuple(each for each in need.suppliers if allowed[each.tool])) for need in needs]

    def _boosts(
        self, completed: Ranking, ranking: Ranking, supporting: Iterable[SupportingTool]
    ) -> dict[str, Floats1d]:
        """By how much each tool was raised, for a value or because it must go first; one that joined, from the lowest candidate."""
        first = {each.tool for each in supporting if each.predicate == DEPENDS_ON}
        raised = completed.scores - with_tools(ranking, completed.tools).scores
        is_first = np.isin(completed.tools, list(first))
        boosts = {}
        if self._predicates & {RESOLVED_BY, SUPPLIES}:
            boosts["resolver_boost"] = np.where(is_first, np.float32(0.0), raised)
        if DEPENDS_ON in self._predicates:
            boosts["dependency_boost"] = np.where(is_first, raised, np.float32(0.0))
        return boosts


def _is_met(context: QueryContext, need: Need) -> bool:
    """Whether a tool that was executed already meets a need, or the caller has the value."""
    if not context.done.isdisjoint(each.tool for each in need.suppliers):
        return True
    return bool(need.parameter) and known_value(context.request.have, need.parameter) is not None


def place_supporting(ranking: Ranking, supporting: Iterable[SupportingTool], *, highest: float) -> Ranking:
    """The ranking with supporting tools raised to their cost below the tool that they serve; no score falls.

    Tools that were no candidates join; their features are 0.

    :param highest: the score below which a supporting tool stays unless it had more, or a document says that it must go first.
    """
    supporting = list(supporting)
    joined = with_tools(ranking, np.unique(np.asarray([each.tool for each in supporting], dtype=np.int64)))
    spread = float(ranking.scores.std()) if len(ranking.tools) else 0.0
    spread = spread or 1.0
    scores = joined.scores.copy()
    for each in supporting:
        at, served = np.searchsorted(joined.tools, (each.tool, each.answers))
        score = float(joined.scores[served]) - each.cost * spread
        if each.predicate != DEPENDS_ON:
            score = min(score, highest - _BELOW * spread)
        scores[at] = max(scores[at], score)
    return replace(joined, scores=scores)


def with_tools(ranking: Ranking, tools: NDArray[np.int64]) -> Ranking:
    """The ranking with these tools too, each with the score of the lowest candidate and features of 0."""
    new = np.setdiff1d(tools, ranking.tools)
    if not len(new):
        return ranking
    joined = np.union1d(ranking.tools, new)
    old = np.searchsorted(joined, ranking.tools)
    lowest = ranking.scores.min() if len(ranking.tools) else 0.0

    def spread(values: NDArray[Any], fill: float) -> NDArray[Any]:
        filled = np.full(len(joined), fill, dtype=values.dtype)
        filled[old] = values
        return filled

    features = {name: spread(values, 0.0) for name, values in ranking.features.items()}
    return Ranking(tools=joined, scores=spread(ranking.scores, lowest), features=features)


def _standing(ranking: Ranking) -> Callable[[int], float]:
    """How many standard deviations a tool's score is above the mean; a tool that is no candidate has the lowest."""
    tools, scores = ranking.tools, ranking.scores
    mean, lowest, spread = float(scores.mean()), float(scores.min()), float(scores.std()) or 1.0

    def standing(tool: int) -> float:
        at = int(np.searchsorted(tools, tool))
        score = float(scores[at]) if at < len(tools) and tools[at] == tool else lowest
        return (score - mean) / spread

    return standing
