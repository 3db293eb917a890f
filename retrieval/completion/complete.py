"""Completion, the last step of ego graph retrieval: the tools that must be called before those that answer a request.

The best tools of the ranking and the best tool of each clause *pull*: each gets a plan (:mod:`retrieval.completion.plan`) of the tools
that supply its open inputs. A supporting tool ends below the tool that it serves by the cost of its plan. Unless a document says that it
must go first, it also ends below the best tool of every clause, so it never takes the place of a direct answer. What several tools need
takes one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial

import numpy as np

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

__all__ = ["Completion", "place_supporting"]

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

    def complete(
        self, context: QueryContext, ranking: Ranking, *, margin: float, with_features: bool = True
    ) -> Ranking:
        """The completed ranking, which may have more tools; no score falls. The context records the supporting tools.

        :param margin: how many standard deviations of the scores a resolver of confidence 1 ends below the tool that needs it.
        :param with_features: whether the features say by how much each tool was raised.
        """
        if not self._predicates or not len(ranking.tools):
            return ranking
        pulling = pulling_tools(context, ranking)
        scale = _Scale(ranking)
        context.supporting = tuple(self._supporting_tools(context, ranking, pulling, scale, margin))
        completed = ranking
        if context.supporting:
            highest = lowest_direct_score(ranking.scores, pulling)
            completed = place_supporting(ranking, context.supporting, highest=highest, spread=scale.spread)
        if not with_features:
            return completed
        features = {**completed.features, **self._boosts(completed, ranking, context.supporting)}
        return replace(completed, features=features)

    def _supporting_tools(
        self, context: QueryContext, ranking: Ranking, pulling: Sequence[Pulling], scale: _Scale, margin: float
    ) -> list[SupportingTool]:
        """The plans of the pulling tools, one after the other; a tool may be in several."""
        given = context.once(GivenInputs, partial(_given, context))
        costs = context.once((self, "costs", margin), lambda: replace(self._costs, resolver=margin))
        found: list[SupportingTool] = []
        for each in pulling:
            tool = int(ranking.tools[each.place])
            found += plan(
                tool, partial(self._known_open_needs, context, given, tool, each.parts), costs, scale.standing
            )
        return found

    def _known_open_needs(
        self, context: QueryContext, given: GivenInputs, answers: int, parts: Sequence[Clause], tool: int
    ) -> list[Need]:
        """What the request leaves open of a tool, found once: of the clauses that it answers two things count."""
        if tool != answers:
            parts = ()
        of_self = self._own_profiles and speaks_of_self(parts)
        what = (self, tool, of_self, given.loose(parts))
        return context.once(what, partial(self._open_needs, context, given, tool, parts, of_self=of_self))

    def _open_needs(
        self, context: QueryContext, given: GivenInputs, tool: int, parts: Sequence[Clause], *, of_self: bool
    ) -> list[Need]:
        """What the request leaves open of a tool, with the suppliers that it may see.

        :param parts: the clauses that it answers; none for a tool that only supplies another.
        :param of_self: whether one of them speaks in the first person.
        """
        needs = [need for need in self._needs_of(tool) if not _is_met(context, need)]
        if of_self:
            needs = [resolved_by_own_profile(context.snapshot, tool, need) for need in needs]
        needs = given.open_needs(tool, needs, parts)
        allowed = context.allowed
        if allowed is None:
            return needs
        return [replace(need, suppliers=tuple(each for each in need.suppliers if allowed[each.tool])) for need in needs]

    def _boosts(
        self, completed: Ranking, ranking: Ranking, supporting: Iterable[SupportingTool]
    ) -> dict[str, Floats1d]:
        """By how much each tool was raised, for a value or because it must go first; one that joined, from the lowest candidate."""
        first = {each.tool for each in supporting if each.predicate == DEPENDS_ON}
        raised = completed.scores - ranking.with_tools(completed.tools).scores
        is_first = np.isin(completed.tools, list(first)) if first else np.zeros(len(raised), dtype=bool)
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


class _Scale:
    """The scale of the scores of a ranking of at least one tool; most requests need no other tool, and so never ask for it."""

    def __init__(self, ranking: Ranking) -> None:
        self._tools, self._scores = ranking.tools, ranking.scores

    @cached_property
    def spread(self) -> float:
        """The standard deviation, > 0."""
        return float(self._scores.std()) or 1.0

    @cached_property
    def _mean(self) -> float:
        return float(self._scores.mean())

    def standing(self, tool: int) -> float:
        """How many standard deviations a tool's score is above the mean; a tool that is no candidate has the lowest."""
        at = int(self._tools.searchsorted(tool))
        known = at < len(self._tools) and self._tools[at] == tool
        score = float(self._scores[at] if known else self._scores.min())
        return (score - self._mean) / self.spread


def _given(context: QueryContext) -> GivenInputs:
    named = has_proper_name(context.query, context.snapshot.fields["whole"].frequency)
    return GivenInputs(context.query, named=named)


def place_supporting(
    ranking: Ranking, supporting: Iterable[SupportingTool], *, highest: float, spread: float
) -> Ranking:
    """The ranking with supporting tools raised to their cost below the tool that they serve; no score falls.

    Tools that were no candidates join; their features are 0.

    :param highest: the score below which a supporting tool stays unless it had more, or a document says that it must go first.
    :param spread: standard deviation of the scores, > 0.
    """
    supporting = list(supporting)
    tools = np.array([each.tool for each in supporting], dtype=np.int64)
    answers = np.array([each.answers for each in supporting], dtype=np.int64)
    costs = np.array([each.cost for each in supporting], dtype=np.float64)
    must_go_first = np.array([each.predicate == DEPENDS_ON for each in supporting])
    joined = ranking.with_tools(tools)
    raised = joined.scores[joined.tools.searchsorted(answers)] - costs * spread
    raised = np.where(must_go_first, raised, np.minimum(raised, highest - _BELOW * spread))
    scores = joined.scores.copy()
    np.maximum.at(scores, joined.tools.searchsorted(tools), raised.astype(np.float32))
    return Ranking(tools=joined.tools, scores=scores, features=joined.features)
