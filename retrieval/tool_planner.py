"""Plans of calls over one snapshot: which tools lead to some goal tools, in which order, and where each input comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np

from egotools.tool_plan import ToolPlan
from egotools.values import Response
from retrieval.answered_identifiers import AnsweredIdentifiers
from retrieval.completion.call_choices import CallChoices, CallCosts, cheapest_choices
from retrieval.completion.given import GivenInputs
from retrieval.completion.needs import Need, NeedsOf, tool_needs
from retrieval.completion.own_profile import resolved_by_own_profile, speaks_of_self
from retrieval.completion.proper_names import has_proper_name
from retrieval.config import DEPENDENCIES
from retrieval.explain.tool_facts import tool_facts
from retrieval.plan_steps import PlanSteps
from retrieval.query.context import executed_tools
from retrieval.query.known_values import known_value
from retrieval.query.plan_request import PlanRequest
from retrieval.query.query import Query, analyse
from retrieval.query.stated_numbers import stated_numbers
from retrieval.query.typed_values import find_values
from retrieval.retriever import Retriever
from retrieval.snapshot.reader import Snapshot

__all__ = ["ToolPlanner"]

_CACHED_TOOLS = 20_000
_GOAL_RANKS, _GOAL_PROBABILITY = 10, 0.5
_MOST_CERTAIN = 0.9999  # of a goal that nobody named: a rounded probability may be 1
_DEFAULT_COSTS = CallCosts()


class ToolPlanner:
    """Plans over one snapshot. Thread-safe.

    :param costs: of the plans.
    """

    def __init__(self, snapshot: Snapshot, costs: CallCosts = _DEFAULT_COSTS) -> None:
        self._snapshot = snapshot
        self._costs = costs
        predicates = DEPENDENCIES & set(snapshot.predicates)
        self._needs_of: NeedsOf = lru_cache(_CACHED_TOOLS)(partial(tool_needs, snapshot, predicates))

    def plan(self, request: PlanRequest, retriever: Retriever) -> ToolPlan:
        """The cheapest plan (:class:`retrieval.completion.call_choices.CallCosts`) for the goals.

        :param retriever: matches the query and the needs of the request, if it has any.
        :raises NotFoundError: naming a goal that the catalogue does not have.
        :raises DeadlineError: between two stages, when the caller no longer waits.
        """
        matched = retriever.retrieve(request.retrieval()) if request.is_matched else None
        known = _Known.of(request, self._snapshot, self._needs_of)
        certainty = self._goals(request, matched)
        goals = tuple(certainty)
        open_needs = lru_cache(None)(partial(known.open_needs, goals))
        standing = self._standing(matched)
        choices = cheapest_choices(
            goals, open_needs, self._costs, lambda tool: self._costs.of_call(standing(tool), fits=known.fits(tool))
        )
        if matched is not None:
            request.retrieval().check("plan")
        steps = PlanSteps(self._snapshot, certainty, choices, known.done, known.answered, request.have, known.query)
        made = steps.steps(self._needs_of)
        return ToolPlan(
            steps=made,
            open_inputs=steps.open_inputs(made),
            cost=round(choices.cost, 6),
            snapshot_id=self._snapshot.id,
            answerable_probability=matched.answerable_probability if matched else None,
            unanswerable=matched is not None and matched.unanswerable,
            need_results=matched.need_results if matched else (),
            fallbacks=(
                *(matched.fallbacks if matched else known.fallbacks),
                *_unserved(request, matched),
                *self._left_out(choices, goals),
            ),
        )

    def _goals(self, request: PlanRequest, matched: Response | None) -> dict[int, float]:
        """The goals, in order, and how certain each is."""
        found = () if matched is None or (request.abstain and matched.unanswerable) else matched.tools
        certain = {tool.id: min(tool.probability or 0.0, _MOST_CERTAIN) for tool in found}
        if request.goals:
            chosen = dict.fromkeys(request.goals, 1.0)
        elif request.needs:
            results = matched.need_results if matched else ()
            best = [each.tool for each in results if each.tool and not (request.abstain and each.unserved)]
            chosen = {id_: certain.get(id_, 0.0) for id_ in best}
        else:
            chosen = {
                id_: probability
                for place, (id_, probability) in enumerate([*certain.items()][:_GOAL_RANKS])
                if place == 0 or probability >= _GOAL_PROBABILITY
            }
        return {self._snapshot.tool_number(id_): certainty for id_, certainty in chosen.items()}

    def _standing(self, matched: Response | None) -> Callable[[int], float]:
        """How many standard deviations a tool's score is above the mean of those that match best; 0 without a request."""
        if matched is None or not matched.tools:
            return lambda tool: 0.0
        scores = np.array([tool.score for tool in matched.tools])
        above = (scores - scores.mean()) / (scores.std() or 1.0)
        found = dict(zip((tool.id for tool in matched.tools), above.tolist(), strict=True))
        lowest = float(above.min())
        return lambda tool: found.get(self._snapshot.tool_id(tool), lowest)

    def _left_out(self, choices: CallChoices, goals: Sequence[int]) -> list[str]:
        name = self._snapshot.tool_id
        left = [
            f"{name(choice.need.suppliers[0].tool)} should go before {name(tool)}, and the plan has no place for it"
            for tool in choices.order
            for choice in choices.choices.get(tool, ())
            if not choice.need.parameter and choice.supplier is None
        ]
        if not goals:
            left.append("no tool fits the request")
        if not choices.is_cheapest:
            left.append(f"the search ended after {self._costs.tried:,} choices: a cheaper plan may exist")
        return left


def _unserved(request: PlanRequest, matched: Response | None) -> Iterator[str]:
    """Yield a sentence for each need that nothing fits; its best tool is a goal only where the caller does not abstain."""
    for each in matched.need_results if matched else ():
        if each.unserved:
            guessed = each.tool and not request.goals and not request.abstain
            then = f"its goal {each.tool} is a guess" if guessed else "it has no goal"
            yield f"nothing fits the need {each.need!r}: {then}"


@dataclass(frozen=True)
class _Known:
    """What is known before any call.

    :param query: the analysed request; None where there is none.
    :param done: numbers of the executed tools.
    """

    snapshot: Snapshot
    needs_of: NeedsOf
    request: PlanRequest
    query: Query | None
    done: frozenset[int]
    fallbacks: Sequence[str]

    @classmethod
    def of(cls, request: PlanRequest, snapshot: Snapshot, needs_of: NeedsOf) -> _Known:
        done, fallbacks = executed_tools(snapshot, request.done)
        query = None
        if request.query:
            values = find_values(request.query, snapshot.value_shapes)
            query = analyse(request.query, None, snapshot.abbreviations, values=values)
        return cls(snapshot, needs_of, request, query, done, fallbacks)

    @cached_property
    def answered(self) -> AnsweredIdentifiers:
        """What the executed tools have answered."""
        numbers = map(self.snapshot.find_node, (f"tool:{each}" for each in self.request.done))
        return AnsweredIdentifiers(self.snapshot, (number for number in numbers if number is not None))

    @cached_property
    def known(self) -> Mapping[str, str]:
        """The values of the caller, and the short numbers that the request states."""
        return {**stated_numbers(self.request.query), **self.request.have}

    @cached_property
    def given(self) -> GivenInputs | None:
        """What the request gives; None without one."""
        return None if self.query is None else GivenInputs(self.query, named=self.is_named)

    @cached_property
    def is_named(self) -> bool:
        """Whether the request names a thing."""
        return self.query is not None and has_proper_name(self.query, self.snapshot.fields["whole"].frequency)

    def fits(self, tool: int) -> bool:
        """Whether a tool takes words where the request has a name, and none where it has none; so does one that needs identifiers."""
        if self.query is None:
            return True
        required = tool_facts(self.snapshot, tool).required
        supplied = {need.parameter for need in self.needs_of(tool)}
        takes_words = any(
            each.is_text and not each.is_opaque and not each.enum and each.name not in supplied for each in required
        )
        return takes_words if self.is_named and not supplied else not takes_words or self.is_named

    def _is_known(self, parameter: str) -> bool:
        return known_value(self.known, parameter) is not None or self.answered.supplier(parameter) is not None

    def open_needs(self, goals: Sequence[int], tool: int) -> list[Need]:
        """The needs of a tool that nothing known meets."""
        needs = [
            need
            for need in self.needs_of(tool)
            if self.done.isdisjoint(each.tool for each in need.suppliers)
            and not (need.parameter and self._is_known(need.parameter))
        ]
        needs.sort(key=lambda need: (not need.required, need.parameter, need.suppliers[0].position))
        if self.query is None or self.given is None:
            return [need for need in needs if need.required]
        parts = (self.query,) if tool in goals else ()
        if speaks_of_self(parts):
            needs = [resolved_by_own_profile(self.snapshot, tool, need) for need in needs]
        return self.given.open_needs(tool, needs, parts)
