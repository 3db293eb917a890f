"""The steps of a plan as an answer shows them: each input with the step, the value or the question that fills it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from egotools.tool_plan import OpenInput, PlanInput, PlanStep
from retrieval.answered_identifiers import AnsweredIdentifiers
from retrieval.completion.call_choices import CallChoices, Choice
from retrieval.completion.needs import RESOLVED_BY, Need, NeedsOf, Supplier
from retrieval.completion.proper_names import only_proper_name
from retrieval.explain.given_inputs import GivenInputs, given_values, named_nouns
from retrieval.explain.tool_facts import Input, ToolFacts, tool_facts
from retrieval.index.analysis import terms
from retrieval.query.known_values import IDENTIFIER_WORDS, known_value, short_name
from retrieval.query.query import Query
from retrieval.query.stated_numbers import stated_numbers
from retrieval.snapshot.reader import Snapshot

__all__ = ["PlanSteps"]

_MOST_ALTERNATIVES = 3
_NAME_CERTAINTY = 0.9  # that the one name in a request is what the one search of its plan looks for. Chosen, not tuned.
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_STARTS, _ENDS = frozenset({"start", "begin", "first"}), frozenset({"end", "last"})
_GOAL, _STEP, _DONE, _HAVE, _REQUEST, _CONTEXT, _ASK = "goal", "step", "done", "have", "request", "context", "ask"


@dataclass(frozen=True)
class PlanSteps:
    """Makes the steps of one plan.

    :param goals: their numbers → how certain each is: 1 where the caller named it, else the probability that the request needs it.
    :param done: numbers of the executed tools.
    :param answered: what those have answered.
    :param have: values that are known already.
    :param query: the analysed request, or None.
    """

    snapshot: Snapshot
    goals: Mapping[int, float]
    choices: CallChoices
    done: Collection[int]
    answered: AnsweredIdentifiers
    have: Mapping[str, str]
    query: Query | None

    def steps(self, needs_of: NeedsOf) -> tuple[PlanStep, ...]:
        """The steps in the order of their calls."""
        uses: defaultdict[int, list[Supplier]] = defaultdict(list)
        for choices in self.choices.choices.values():
            for choice in choices:
                if choice.supplier is not None:
                    uses[choice.supplier.tool].append(choice.supplier)
        found = []
        for number, tool in enumerate(self.choices.order, start=1):
            best = max(uses[tool], key=lambda use: use.confidence, default=None)
            is_goal = tool in self.goals or best is None
            found.append(
                PlanStep(
                    number=number,
                    tool_id=self.snapshot.tool_id(tool),
                    kind=_GOAL if is_goal or best is None else best.predicate,
                    confidence=self.goals.get(tool, 1.0) if is_goal or best is None else round(best.confidence, 6),
                    inputs=tuple(self._inputs(tool, needs_of(tool))),
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
        return tuple(
            OpenInput(
                parameter=group[0][1].parameter,
                description=self._description(group[0][0].tool_id, group[0][1].parameter),
                source=group[0][1].source,
                steps=tuple(dict.fromkeys(step.number for step, _ in group)),
            )
            for group in groups.values()
        )

    def _description(self, tool_id: str, parameter: str) -> str:
        tool = self.snapshot.tool(self.snapshot.tool_number(tool_id))
        return next((each.description for each in tool.parameters if each.name == parameter), "")

    @cached_property
    def _given(self) -> GivenInputs:
        if self.query is None:
            return GivenInputs((), frozenset(), self.have)
        text = self.query.text
        return GivenInputs(given_values(text, self.query.values), named_nouns(text), self.have)

    @cached_property
    def _stated(self) -> Mapping[str, str]:
        return {} if self.query is None else stated_numbers(self.query.text)

    @cached_property
    def _name(self) -> str:
        """The one proper name of the request."""
        return "" if self.query is None else only_proper_name(self.query, self.snapshot.fields["whole"].frequency)

    @cached_property
    def _resolvers(self) -> frozenset[int]:
        """The step that turns words into an identifier, where the plan has one: a single name is meant for it."""
        used = (choice.supplier for choices in self.choices.choices.values() for choice in choices if choice.supplier)
        found = frozenset(each.tool for each in used if each.predicate == RESOLVED_BY) - self.goals.keys()
        return found if len(found) == 1 else frozenset()

    def _given_days(self, facts: ToolFacts) -> dict[str, str]:
        """What the days of the request (ISO 8601) fill for certain: the one day an input, or the two days a start and an end."""
        values = () if self.query is None else self.query.values
        days = sorted(value.text for value in values if value.kind == "date" and _ISO_DAY.fullmatch(value.text))
        inputs = [each for each in facts.required if each.is_text and each.terms[-1:] in (("date",), ("day",))]
        if len(inputs) == 2 and _STARTS & set(inputs[1].terms):
            inputs.reverse()
        ordered = len(inputs) == 1 or (
            len(inputs) == 2 and _STARTS & set(inputs[0].terms) and _ENDS & set(inputs[1].terms)
        )
        return (
            {each.name: day for each, day in zip(inputs, days, strict=False)}
            if ordered and len(days) == len(inputs)
            else {}
        )

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {tool: number for number, tool in enumerate(self.choices.order, start=1)}

    def _inputs(self, tool: int, needs: Sequence[Need]) -> Iterator[PlanInput]:
        """The inputs of a tool: in the order of its document, then the tools that only must go first."""
        facts = tool_facts(self.snapshot, tool)
        chosen = {choice.need.parameter: choice for choice in self.choices.choices.get(tool, ())}
        needed = {need.parameter: need for need in needs if need.parameter}
        values = {**self._given_days(facts), **self._given.of(tool, facts)}
        optional = {each.name for each in facts.inputs if not each.required}
        wanted = {each.name for each in facts.required}  # of a required object its required fields
        for each in facts.inputs:
            needs_value = each.name in wanted and not any(name in optional for name in _parents(each.name))
            required = needs_value or (each.name in needed and needed[each.name].required)
            found = self._source(tool, each, needed.get(each.name), chosen.get(each.name), values, required)
            if found is not None:
                yield found
        for name in facts.context:
            value = known_value(self.have, name)
            yield PlanInput(
                parameter=name,
                source=_CONTEXT if value is None else _HAVE,
                confidence=0.0 if value is None else 1.0,
                value=value or "",
                required=name in facts.required_names,
            )
        for need in needs:
            supplier = self._called(need) if not need.parameter else None
            if supplier is not None:
                yield self._from_tool(need, supplier, True)

    def _source(
        self,
        tool: int,
        each: Input,
        need: Need | None,
        choice: Choice | None,
        values: Mapping[str, str],
        required: bool,
    ) -> PlanInput | None:
        """Where an input comes from; None for an optional one that nothing is known for."""
        value = known_value(self.have, each.name)
        if value is not None:
            return PlanInput(parameter=each.name, source=_HAVE, confidence=1.0, value=value, required=required)
        if choice is not None and choice.supplier is not None:
            return self._from_tool(choice.need, choice.supplier, required)
        done = next((one for one in need.suppliers if one.tool in self.done), None) if need is not None else None
        if need is not None and done is not None:
            return self._from_tool(need, done, required)
        said = values.get(each.name) or known_value(self._stated, each.name)
        if said is not None and choice is None:
            return PlanInput(parameter=each.name, source=_REQUEST, confidence=1.0, value=said, required=required)
        if not required:
            return None
        answered = self.answered.supplier(each.name)
        if answered is not None:
            return self._from_tool(need or Need(parameter=each.name, required=True, suppliers=()), answered, True)
        in_words = (
            need is not None or (each.is_text and not each.is_opaque) or self._given.may_give(each, values.values())
        )
        if self.query is not None and choice is None and in_words:
            value = self._name if tool in self._resolvers and each.is_text and not each.enum else ""
            certainty = _NAME_CERTAINTY if value else 0.0
            return PlanInput(parameter=each.name, source=_REQUEST, value=value, confidence=certainty, required=True)
        others = () if need is None else tuple(self._names(need.suppliers))
        return PlanInput(parameter=each.name, source=_ASK, required=True, alternatives=others)

    def _called(self, need: Need) -> Supplier | None:
        """The supplier of a need that the plan calls before, or that was executed already."""
        for each in need.suppliers:
            if each.tool in self.done:
                return each
        for choices in self.choices.choices.values():
            for choice in choices:
                if choice.need == need and choice.supplier is not None:
                    return choice.supplier
        return None

    def _from_tool(self, need: Need, supplier: Supplier, required: bool) -> PlanInput:
        is_done = supplier.tool in self.done
        return PlanInput(
            parameter=need.parameter,
            source=_DONE if is_done else _STEP,
            step=0 if is_done else self._numbers[supplier.tool],
            supplier=self.snapshot.tool_id(supplier.tool),
            output=supplier.output,
            kind=supplier.predicate,
            confidence=round(supplier.confidence, 6),
            required=required,
            alternatives=tuple(self._names(one for one in need.suppliers if one.tool != supplier.tool)),
        )

    def _names(self, suppliers: Iterator[Supplier] | Sequence[Supplier]) -> Iterator[str]:
        for _, each in zip(range(_MOST_ALTERNATIVES), suppliers, strict=False):
            yield self.snapshot.tool_id(each.tool)


def _parents(name: str) -> Iterator[str]:
    """The objects that a nested input is part of: ``filter`` and ``filter.range`` of ``filter.range.from``."""
    parts = name.split(".")
    for length in range(1, len(parts)):
        parent = ".".join(parts[:length])
        yield parent
        yield parent.removesuffix("[]")
