"""Plans of calls over one snapshot: which tools lead to some goal tools, in which order, and where each input comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain, islice
from typing import Any

import numpy as np

from egotools.values import OpenInput, PlanInput, PlanStep, Response, ToolPlan
from ontology.tool_effects import known_effect_of
from retrieval.completion.complete import has_proper_name, resolved_by_own_profile, speaks_of_self, unmet
from retrieval.completion.needs import SUPPLIES, GivenInputs, Need, NeedsOf, Supplier, tool_needs
from retrieval.completion.plan import CallChoices, Choice, chosen_calls
from retrieval.explain.tool_facts import GivenValue, Input, given_inputs, given_values, tool_facts
from retrieval.index.bm25 import terms
from retrieval.query.context import executed_tools
from retrieval.query.query import Query, analyse
from retrieval.query.request import PlanRequest
from retrieval.query.typed_values import IDENTIFIER_WORDS, find_values, known_value, short_name
from retrieval.retriever import DEPENDENCIES, Retriever
from retrieval.snapshot.reader import Snapshot

_MOST_ALTERNATIVES = 3
_ANSWERED = 0.7  # two identifiers of one name may be those of two things. Chosen, not tuned.
_GOAL, _STEP, _DONE, _HAVE, _REQUEST, _CONTEXT, _ASK = "goal", "step", "done", "have", "request", "context", "ask"


@dataclass(frozen=True)
class _Known:
    snapshot: Snapshot
    needs_of: NeedsOf
    request: PlanRequest
    query: Query | None  # the analysed request; None where there is none
    done: frozenset[int]  # numbers of the executed tools

    @cached_property
    def answered(self) -> Mapping[tuple[str, ...], Supplier]:
        """The index terms of each identifier that an executed tool has answered → that tool, of several the last one.
        Only outputs whose name says that they identify something, and what: an ``id`` or a ``price`` may be that of
        anything."""
        numbers = (self.snapshot.find_node(f"tool:{each}") for each in self.request.done)
        return {
            output.terms: Supplier(tool, SUPPLIES, output.name, _ANSWERED)
            for tool in numbers
            if tool is not None
            for output in self.snapshot.tools.read(tool, _identifiers)
        }

    def answers(self, parameter: str) -> Supplier | None:
        """The executed tool that has answered an input, or None."""
        return self.answered.get(Input(parameter).terms) if self.answered else None

    @cached_property
    def is_named(self) -> bool:
        return self.query is not None and has_proper_name(self.query, self.snapshot.fields["whole"].frequency)

    @cached_property
    def given(self) -> GivenInputs | None:
        """What the request gives of what a tool needs; None without one."""
        return None if self.query is None else GivenInputs(self.query, named=self.is_named)

    @cached_property
    def values(self) -> Sequence[GivenValue]:
        return () if self.query is None else given_values(self.query.text, self.query.values)

    def fits(self, tool: int) -> bool:
        """Whether a tool takes words where the request has a name, and none where it has none; so does one that needs identifiers."""
        if self.query is None:
            return True
        supplied = {need.parameter for need in self.needs_of(tool)}
        takes_words = any(
            each.is_text and not each.is_opaque and not each.enum and each.name not in supplied
            for each in tool_facts(self.snapshot, tool).required
        )
        return takes_words if self.is_named and not supplied else not takes_words or self.is_named

    def open_needs(self, goals: Sequence[int], tool: int) -> list[Need]:
        """The needs of a tool that nothing known meets."""
        said = given_inputs(self.values, self.request.have, tool, tool_facts(self.snapshot, tool))
        unmet_needs = unmet(self.needs_of(tool), self.done, {**self.request.have, **said})
        needs = [need for need in unmet_needs if not need.parameter or self.answers(need.parameter) is None]
        needs.sort(key=lambda need: (not need.required, need.parameter, need.suppliers[0].position))
        if self.query is None or self.given is None:
            return [need for need in needs if need.required]
        parts = (self.query,) if tool in goals else ()
        if speaks_of_self(parts):
            needs = [resolved_by_own_profile(self.snapshot, tool, need) for need in needs]
        return self.given.open_needs(tool, needs, parts)


def _identifiers(row: Any) -> tuple[Input, ...]:
    """The outputs that are identifiers, those of the answer itself last: they count before those of what it contains."""
    names = sorted(
        (each["name"] for each in row.get("returns", ())), key=lambda name: name.count(".") + name.count("[]")
    )
    return tuple(output for output in map(Input, reversed(names)) if output.is_opaque and output.entity)


@dataclass(frozen=True)
class _Steps:
    known: _Known
    # their numbers → how certain each is: 1 where the caller named it, else the probability that the request needs it
    goals: Mapping[int, float]
    choices: CallChoices

    @cached_property
    def made(self) -> list[Choice]:
        return [choice for choices in self.choices.choices.values() for choice in choices]

    def steps(self) -> tuple[PlanStep, ...]:
        found = []
        for number, tool in enumerate(self.choices.order, start=1):
            uses = (each.supplier for each in self.made if each.supplier is not None and each.supplier.tool == tool)
            best = None if tool in self.goals else max(uses, key=lambda use: use.confidence, default=None)
            found.append(
                PlanStep(
                    number=number,
                    tool_id=self.known.snapshot.tool_id(tool),
                    kind=_GOAL if best is None else best.predicate,
                    confidence=self.goals.get(tool, 1.0) if best is None else round(best.confidence, 6),
                    inputs=tuple(self._inputs(tool, self.known.needs_of(tool))),
                    effect=known_effect_of(self.known.snapshot.tool(tool)) or "",
                )
            )
        return tuple(found)

    def open_inputs(self, steps: Sequence[PlanStep]) -> tuple[OpenInput, ...]:
        """What no step supplies, each once: inputs of one name that says what they identify are one."""
        groups: dict[tuple[str, ...], list[tuple[PlanStep, PlanInput]]] = {}
        for step in steps:
            for each in step.inputs:
                if each.source in (_ASK, _CONTEXT):
                    said = terms(short_name(each.parameter))
                    says_what = any(term not in IDENTIFIER_WORDS for term in said)
                    key = (each.source, *said) if says_what else (each.source, step.tool_id, each.parameter)
                    groups.setdefault(key, []).append((step, each))
        found = []
        for group in groups.values():
            step, open_ = group[0]
            parameters = self.known.snapshot.tool(self.known.snapshot.tool_number(step.tool_id)).parameters
            text = next((each.description for each in parameters if each.name == open_.parameter), "")
            numbers = tuple(dict.fromkeys(step.number for step, _ in group))
            found.append(OpenInput(parameter=open_.parameter, description=text, source=open_.source, steps=numbers))
        return tuple(found)

    def _inputs(self, tool: int, needs: Sequence[Need]) -> Iterator[PlanInput]:
        """The inputs of a tool: in the order of its document, then the tools that only must go first."""
        facts = tool_facts(self.known.snapshot, tool)
        chosen = {choice.need.parameter: choice for choice in self.choices.choices.get(tool, ())}
        needed = {need.parameter: need for need in needs if need.parameter}
        values = given_inputs(self.known.values, self.known.request.have, tool, facts)
        wanted = {each.name for each in facts.required}
        for each in facts.inputs:
            required = each.name in wanted or (each.name in needed and needed[each.name].required)
            found = self._source(each, needed.get(each.name), chosen.get(each.name), values, required)
            if found is not None:
                yield found
        for name in facts.context:
            have = known_value(self.known.request.have, name)
            value = values.get(name) if have is None else have
            yield PlanInput(
                parameter=name,
                source=_HAVE if have is not None else _CONTEXT if value is None else _REQUEST,
                confidence=0.0 if value is None else 1.0,
                value=value or "",
                required=name in facts.required_names,
            )
        for need in needs:
            if not need.parameter:  # what was executed already, or the plan calls before
                done = (each for each in need.suppliers if each.tool in self.known.done)
                called = (choice.supplier for choice in self.made if choice.need == need and choice.supplier)
                supplier = next(chain(done, called), None)
                if supplier is not None:
                    yield self._from_tool(need, supplier, True)

    def _source(
        self, each: Input, need: Need | None, choice: Choice | None, values: Mapping[str, str], required: bool
    ) -> PlanInput | None:
        """Where an input comes from; None for an optional one that nothing is known for."""
        value = known_value(self.known.request.have, each.name)
        if value is not None and each.takes(value):
            return PlanInput(parameter=each.name, source=_HAVE, confidence=1.0, value=value, required=required)
        if choice is not None and choice.supplier is not None:
            return self._from_tool(choice.need, choice.supplier, required)
        done = next((one for one in need.suppliers if one.tool in self.known.done), None) if need is not None else None
        if need is not None and done is not None:
            return self._from_tool(need, done, required)
        said = values.get(each.name)
        if said is not None and choice is None:
            return PlanInput(parameter=each.name, source=_REQUEST, confidence=1.0, value=said, required=required)
        if not required:
            return None
        answered = self.known.answers(each.name)
        if answered is not None:
            return self._from_tool(need or Need(parameter=each.name, required=True, suppliers=()), answered, True)
        query, given = self.known.query, self.known.given
        in_words = need is not None or not each.is_opaque
        missing = query is not None and each.written_kind not in ("", *(value.kind for value in query.values))
        is_asked = choice is not None or missing
        if not is_asked and query is not None and given is not None and (in_words or given.loose((query,))):
            return PlanInput(parameter=each.name, source=_REQUEST, required=True)  # the words may say it
        others = () if need is None else self._names(need.suppliers)
        return PlanInput(parameter=each.name, source=_ASK, required=True, alternatives=others)

    def _from_tool(self, need: Need, supplier: Supplier, required: bool) -> PlanInput:
        is_done = supplier.tool in self.known.done
        return PlanInput(
            parameter=need.parameter,
            source=_DONE if is_done else _STEP,
            step=0 if is_done else self.choices.order.index(supplier.tool) + 1,
            supplier=self.known.snapshot.tool_id(supplier.tool),
            output=supplier.output,
            kind=supplier.predicate,
            confidence=round(supplier.confidence, 6),
            required=required,
            alternatives=self._names(one for one in need.suppliers if one.tool != supplier.tool),
        )

    def _names(self, suppliers: Iterable[Supplier]) -> tuple[str, ...]:
        return tuple(self.known.snapshot.tool_id(each.tool) for each in islice(suppliers, _MOST_ALTERNATIVES))


_CACHED_TOOLS = 20_000
_GOAL_RANKS, _GOAL_PROBABILITY = 10, 0.5
_MOST_CERTAIN = 0.9999  # of a goal that nobody named: a rounded probability may be 1
# Standard deviations that a supplier loses that takes words where the request has none, or none where it has.
_UNFIT = 5.0
_ASKED = 4.0  # cost of an input that is asked for although a tool could give it


def _analysed(text: str, snapshot: Snapshot) -> Query | None:
    values = find_values(text, snapshot.value_shapes)
    return analyse(text, None, snapshot.abbreviations, values=values) if text else None


def _not_taken(have: Mapping[str, str], steps: Sequence[PlanStep]) -> Iterator[str]:
    """Yield a sentence for each given value that is of no input of a step, or of one that cannot take it."""
    inputs = [each.parameter for step in steps for each in step.inputs if each.source in (_HAVE, _REQUEST)]
    for name, value in have.items():
        if all(known_value({name: value}, each) is None for each in inputs):
            yield f"no step takes the given value {name[:80]!r}"


class ToolPlanner:
    """Plans over one snapshot. Thread-safe."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        predicates = DEPENDENCIES & set(snapshot.predicates)
        self._needs_of: NeedsOf = lru_cache(_CACHED_TOOLS)(partial(tool_needs, snapshot, predicates))

    def plan(self, request: PlanRequest, retriever: Retriever) -> ToolPlan:
        """The plan for the goals. ``retriever``: matches the query and the needs of the request, if it has any."""
        matched = retriever.retrieve(request.retrieval()) if request.is_matched else None
        done, fallbacks = executed_tools(self._snapshot, request.done)
        known = _Known(self._snapshot, self._needs_of, request, _analysed(request.query, self._snapshot), done)
        certainty = self._goals(request, matched)
        goals = tuple(certainty)
        open_needs = lru_cache(None)(partial(known.open_needs, goals))
        standing = self._standing(matched)
        choices = chosen_calls(goals, open_needs, lambda tool: standing(tool) - _UNFIT * (not known.fits(tool)))
        if matched is not None:
            request.retrieval().check("plan")
        steps = _Steps(known, certainty, choices)
        made = steps.steps()
        return ToolPlan(
            steps=made,
            open_inputs=steps.open_inputs(made),
            cost=len(choices.order)
            - len(goals)
            + _ASKED * sum(each.supplier is None and each.need.required for each in steps.made),
            snapshot_id=self._snapshot.id,
            answerable_probability=matched.answerable_probability if matched else None,
            unanswerable=matched is not None and matched.unanswerable,
            need_results=matched.need_results if matched else (),
            fallbacks=(
                *(matched.fallbacks if matched else fallbacks),
                *self._left_out(request, matched, choices, goals),
                *_not_taken(request.have, made),
            ),
        )

    def _goals(self, request: PlanRequest, matched: Response | None) -> dict[int, float]:
        """The goals, in order, and how certain each is."""
        found = () if matched is None or (request.abstain and matched.unanswerable) else matched.tools
        certain = {tool.id: min(tool.probability or 0.0, _MOST_CERTAIN) for tool in found}
        if request.goals:
            chosen = dict.fromkeys(request.goals, 1.0)
        elif request.needs:
            best = [each for each in (matched.need_results if matched else ()) if each.tool]
            chosen = {
                each.tool: certain.get(each.tool, 0.0) for each in best if not (request.abstain and each.unserved)
            }
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

    def _left_out(
        self, request: PlanRequest, matched: Response | None, choices: CallChoices, goals: Sequence[int]
    ) -> Iterator[str]:
        """Yield a sentence for each need that nothing fits (its best tool is a goal only where the caller does not
        abstain), and for whatever else the plan lacks."""
        for each in matched.need_results if matched else ():
            if each.unserved:
                guessed = each.tool and not request.goals and not request.abstain
                then = f"its goal {each.tool} is a guess" if guessed else "it has no goal"
                yield f"nothing fits the need {each.need!r}: {then}"
        name = self._snapshot.tool_id
        for tool in choices.order:
            for choice in choices.choices.get(tool, ()):
                if not choice.need.parameter and choice.supplier is None:
                    yield (
                        f"{name(choice.need.suppliers[0].tool)} should go before {name(tool)}, and the plan has no place for it"
                    )
        if not goals:
            yield "no tool fits the request"
