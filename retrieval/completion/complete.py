"""Completion, the last step of ego graph retrieval: the tools that must be called before those that answer a request.

The best tools of the ranking and the best tool of each clause *pull*: each gets a plan (:mod:`retrieval.completion.plan`) of the tools
that supply its open inputs. A supporting tool ends below the tool that it serves by the cost of its plan. Unless a document says that it
must go first, it also ends below the best tool of every clause, so it never takes the place of a direct answer. What several tools need
takes one place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice

import numpy as np

from ontology.tool import PERSONS
from retrieval.completion.needs import (
    DEPENDS_ON,
    RESOLVED_BY,
    SUPPLIES,
    GivenInputs,
    Need,
    NeedsOf,
    Supplier,
    tool_needs,
)
from retrieval.completion.plan import Costs, plan
from retrieval.index.bm25 import terms
from retrieval.query.context import QueryContext, SupportingTool
from retrieval.query.query import Clause, Query
from retrieval.query.typed_values import SELF, known_value
from retrieval.ranking.features import CLAUSE_FACTOR, clause_scores, standardise
from retrieval.ranking.ranking import Ranking
from retrieval.retriever import RetrievalConfig
from retrieval.snapshot.reader import Snapshot

_BEST = 3  # tools that pull, whatever the clauses. One or two lose on restbench and apibank; five change nothing
# A clause has a direct answer where its best tool is among this many best tools for each clause. Any number from 2 does
# as well.
_TRUSTED = 3


@dataclass(frozen=True, slots=True)
class Pulling:
    """A tool that pulls others."""

    place: int  # its place in the ranking's tools
    parts: tuple[Clause, ...]  # the clauses that it answers, or the whole request
    direct: bool = False  # whether it is the trusted best tool of a clause


def pulling_tools(context: QueryContext, ranking: Ranking) -> list[Pulling]:
    """The best tools of a ranking, best first, then the best of each clause."""
    best = [int(place) for place in ranking.best(max(_BEST, _TRUSTED * len(context.query.clauses)))]
    clauses = context.query.clauses
    if not clauses or not np.isin(ranking.tools, context.candidates).all():
        return [Pulling(place, (context.query,)) for place in best[:_BEST]]
    # executed tools have left the ranking
    clauses_CT = clause_scores(context)[:, np.searchsorted(context.candidates, ranking.tools)]
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


_CONFIDENCE = 0.9
_MOST = 2  # own profiles that are followed


def resolved_by_own_profile(snapshot: Snapshot, tool: int, need: Need) -> Need:
    """A need of a tool with the own profile as its supplier, where it is for the identifier of a person; else the need itself."""
    head = need.entity.rpartition(" ")[2]
    if head not in PERSONS or not need.parameter:
        return need
    # A number of another system is another number: only a system that can supply this one knows who asks.
    systems = snapshot.tool_systems
    known = {int(systems[each]) for each in (tool, *(supplier.tool for supplier in need.suppliers))}
    own = [each for each in snapshot.own_profiles if each != tool and int(systems[each]) in known]
    if not own:
        return need
    suppliers = tuple(Supplier(each, RESOLVED_BY, confidence=_CONFIDENCE) for each in own[:_MOST])
    return replace(need, suppliers=suppliers, required=True)


def unmet(needs: Sequence[Need], done: frozenset[int], have: Mapping[str, str]) -> list[Need]:
    """The needs that no executed tool and no known value meets."""
    return [
        need
        for need in needs
        if done.isdisjoint(each.tool for each in need.suppliers)
        and not (need.parameter and known_value(have, need.parameter) is not None)
    ]


def speaks_of_self(parts: Sequence[Clause]) -> bool:
    """Whether one of some clauses speaks in the first person."""
    return any(value.kind == SELF for part in parts for value in part.values)


# A capitalised word with a small letter, in the middle of a sentence.
_CAPITALISED = re.compile(r"(?<![\w.?!:)])(?<![.?!:)][ \n])(?!\A)[^\W\d_a-zß-ÿ][\w'’-]{0,40}")
_MAX_WORDS = 200  # capitalised words that are looked at. Chosen, not tuned


def has_proper_name(query: Query, frequency: Callable[[str], int]) -> bool:
    """Whether a request has a capitalised word that no tool has, outside its dates and identifiers; or a quoted text."""
    taken = [(value.start, value.end) for value in query.values if value.kind != "quoted"]
    for match in islice(_CAPITALISED.finditer(query.text), _MAX_WORDS):
        word = match[0]
        if not any(map(str.islower, word)) or any(start < match.end() and match.start() < end for start, end in taken):
            continue
        found = terms(word)
        if found and not any(map(frequency, found)):
            return True
    return False


_CACHED_TOOLS = 20_000  # tools whose needs are kept in memory, about 1 KiB each
# How far a supporting tool ends at least below the best tool of a clause, in standard deviations of the scores.
_BELOW = 1e-3


class Completion:
    """Completes rankings of one snapshot. Thread-safe."""

    def __init__(self, snapshot: Snapshot, config: RetrievalConfig) -> None:
        followed = {RESOLVED_BY, SUPPLIES} if config.resolver_boost else set()
        followed |= {DEPENDS_ON} if config.dependency_expansion else set()
        self._predicates = frozenset(followed & set(snapshot.predicates))
        self._own_profiles = RESOLVED_BY in followed and bool(snapshot.own_profiles)
        self._needs_of: NeedsOf = lru_cache(_CACHED_TOOLS)(partial(tool_needs, snapshot, self._predicates))

    def complete(
        self, context: QueryContext, ranking: Ranking, *, margin: float, with_features: bool = True
    ) -> Ranking:
        """The completed ranking, which may have more tools; no score falls. The context records the supporting tools.
        ``margin``: how many standard deviations of the scores a resolver of confidence 1 ends below the tool that needs
        it."""
        if not self._predicates or not len(ranking.tools):
            return ranking
        query, snapshot, scores = context.query, context.snapshot, ranking.scores
        spread = float(scores.std()) or 1.0
        mean, lowest = float(scores.mean()), float(scores.min())
        frequency = snapshot.fields["whole"].frequency
        given = context.once(GivenInputs, lambda: GivenInputs(query, named=has_proper_name(query, frequency)))
        costs = context.once((self, "costs", margin), lambda: Costs(resolver=margin))

        def standing(tool: int) -> float:
            """How many standard deviations a tool's score is above the mean; a tool that is no candidate has the lowest."""
            at = int(ranking.tools.searchsorted(tool))
            known = at < len(ranking.tools) and ranking.tools[at] == tool
            return ((float(scores[at]) if known else lowest) - mean) / spread

        # The plans of the pulling tools, one after the other; a tool may be in several.
        pulling = pulling_tools(context, ranking)
        supporting: list[SupportingTool] = []
        for each in pulling:
            tool = int(ranking.tools[each.place])
            supporting += plan(tool, partial(self._open_needs, context, given, tool, each.parts), costs, standing)
        context.supporting = tuple(supporting)
        completed = ranking
        if supporting:
            direct = [float(scores[each.place]) for each in pulling if each.direct]
            highest = min(direct) if direct else max(float(scores[each.place]) for each in pulling)
            completed = place_supporting(ranking, supporting, highest=highest, spread=spread)
        if not with_features:
            return completed
        # By how much each tool was raised, for a value or because it must go first; one that joined, from the lowest.
        is_first = np.isin(completed.tools, [each.tool for each in supporting if each.predicate == DEPENDS_ON])
        raised = completed.scores - ranking.with_tools(completed.tools).scores
        features = {**completed.features}
        if self._predicates & {RESOLVED_BY, SUPPLIES}:
            features["resolver_boost"] = np.where(is_first, np.float32(0.0), raised)
        if DEPENDS_ON in self._predicates:
            features["dependency_boost"] = np.where(is_first, raised, np.float32(0.0))
        return replace(completed, features=features)

    def _open_needs(
        self, context: QueryContext, given: GivenInputs, answers: int, parts: Sequence[Clause], tool: int
    ) -> list[Need]:
        """What the request leaves open of a tool, with the suppliers that it may see; found once: of the clauses that
        it answers two things count."""
        parts = parts if tool == answers else ()
        of_self = self._own_profiles and speaks_of_self(parts)

        def find() -> list[Need]:
            allowed = context.allowed
            needs = unmet(self._needs_of(tool), context.done, context.request.have)
            if of_self:
                needs = [resolved_by_own_profile(context.snapshot, tool, need) for need in needs]
            needs = given.open_needs(tool, needs, parts)
            if allowed is None:
                return needs
            seen = (tuple(each for each in need.suppliers if allowed[each.tool]) for need in needs)
            return [replace(need, suppliers=suppliers) for need, suppliers in zip(needs, seen, strict=True)]

        return context.once((self, tool, of_self, given.loose(parts)), find)


def place_supporting(
    ranking: Ranking, supporting: Sequence[SupportingTool], *, highest: float, spread: float
) -> Ranking:
    """The ranking with supporting tools raised to their cost below the tool that they serve; no score falls. Tools that
    were no candidates join; their features are 0. ``spread``: standard deviation of the scores, > 0."""
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
