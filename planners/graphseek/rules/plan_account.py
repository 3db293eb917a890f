"""Every mention counts: what was recognised in a question must stand in the plan, or the question is refused with it.

The plan is looked at as it was invoked, and not as it was read, so that no part of the rules can lose a word in silence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from planners.graphseek.results.result import Result
from planners.graphseek.rules.phrase_lexicon import PropertyOf, RelationOf, TypeOf, ValueOf
from planners.graphseek.rules.question_mentions import Mention
from planners.graphseek.rules.question_reading import Condition, Reading, Stop
from planners.graphseek.rules.relation_choice import RelationChoice
from planners.graphseek.rules.said_question import UnreadableError
from planners.graphseek.turn import Invocation

__all__ = ["FLOWS", "LeftOutError", "PlanAccount"]

FLOWS = ("loss", "change", "blueprint")
"""Kinds of questions whose operators follow relationships that no word has to say."""


class LeftOutError(UnreadableError):
    """A question with something that its plan makes no use of; the text names it."""


class PlanAccount:
    """What a plan invoked: types, relationships, properties and values, by the names that the graph has for them."""

    def __init__(self, reading: Reading, choice: RelationChoice, made: Sequence[Invocation]) -> None:
        self._reading, self._choice = reading, choice
        self._arguments = [each.arguments for each in made]
        self._operators = {each.operator for each in made}
        self._strings = {text for each in self._arguments for text in _texts(each)}
        self._filters = [each for arguments in self._arguments for each in _filters(arguments)]

    def take_as_planned(self) -> None:
        """Take the chains and conditions of the reading as planned: one of them led to nothing, so that the rest was not invoked."""
        reading = self._reading
        for chain in (*reading.chains, *reading.without):
            for near, far in itertools.pairwise([reading.target, *chain]):
                self._take_stop(far)
                for said in self._choice.said_hops(far, near, near):
                    self._strings.update(hop.relationship for hop in said.hops)
        self._take_stop(reading.target)

    def _take_stop(self, stop: Stop) -> None:
        for each in stop.row:
            self._strings.update((*each.types, each.name))
            self._filters += [condition.filter for condition in each.conditions]

    def refuse_left_out(self, asked: PropertyOf | None, found: dict[int, tuple[str, ...]]) -> None:
        """Refuse a question with a mention, or with a part of its reading, that the plan makes no use of.

        :param asked: the property that the answer tells.
        :param found: places of names → the handles and names of what is called so.
        :raises LeftOutError: when there is one; the text names it.
        """
        if asked is not None:
            self._strings.add(asked.key.name)
        for stop in self._reading.named:  # the word of a type before a name is part of it
            self._strings.update(stop.types)
        for each in self._reading.mentions:
            if each.name and not {each.name, *found.get(each.start, ())} & self._strings:
                raise LeftOutError(f"“{each.text}” would be left out of the plan; ask without it")
            if each.meanings and not self._is_planned(each):
                raise LeftOutError(f"“{each.text}” would be left out of the plan; {_remedy(each)}")
        for condition in self._conditions():
            if not any(_is_same(condition, each) for each in self._filters):
                said = f"{condition.of.key.name} {condition.operator} {condition.value}"
                raise LeftOutError(
                    f"the condition “{said}” would be left out of the plan; say it right behind its type"
                )
        if self._reading.when.said and not self._choice.is_time_used and "time_slice" not in self._operators:
            said = " ".join(f"{name} {value}" for name, value in self._reading.when.said.items())
            raise LeftOutError(f"the time “{said}” would be left out of the plan; say it right behind a date")
        told = {each.key.name for each in self._reading.asked}
        if told and self._reading.kind in ("property", "total") and (asked is None or asked.key.name not in told):
            raise LeftOutError(f"{' and '.join(sorted(told))} would be left out of the plan; ask for it alone")

    def refuse_unused_results(self, made: Sequence[tuple[Invocation, Result]], told: Sequence[Result]) -> None:
        """Refuse a question of which a part was found, and leads to nothing of the answer.

        :param made: invocations with what they gave.
        :param told: the results that the answer rests on.
        :raises LeftOutError: when there is one.
        """
        handles = {each.handle for each in told}
        for invocation, result in made:
            if result.size and result.handle not in handles | self._strings:
                about = invocation.arguments.get("order_by") or invocation.arguments.get("node_type") or ""
                said = f"what it says of {about}" if about else "a part of it"
                raise LeftOutError(f"{said} would be left out of the plan; ask in two questions")

    def _conditions(self) -> Iterator[Condition]:
        yield from (condition for stop in self._reading.all_stops for each in stop.row for condition in each.conditions)

    def _is_planned(self, mention: Mention) -> bool:
        if any(map(self._is_meaning_planned, mention.meanings)):
            return True
        is_relation = bool(mention.relations) and not (mention.types or mention.values or mention.properties)
        is_light = mention.text.lower().startswith("use")  # "the tools used for …" may say nothing
        return is_relation and (self._reading.kind in FLOWS or is_light or not self._may_lead(mention))

    def _may_lead(self, mention: Mention) -> bool:
        """Whether a relationship that a word may mean connects types of the question; else a note says that it was not followed."""
        types = [name for stop in self._reading.all_stops for each in stop.row for name in each.types]
        return any(self._choice.connects(each.name, types) for each in mention.relations)

    def _is_meaning_planned(self, meaning: TypeOf | PropertyOf | ValueOf | RelationOf) -> bool:
        if isinstance(meaning, TypeOf | RelationOf):
            return meaning.name in self._strings
        if isinstance(meaning, PropertyOf):
            return meaning.key.name in self._strings
        of_property = [each for each in self._filters if each["key"] == meaning.property.key.name]
        is_filtered = any(meaning.value in _listed(each.get("value")) for each in of_property)
        return is_filtered or any(each.get("plan_or_actual") == meaning.value for each in self._arguments)


def _is_same(condition: Condition, known: dict[str, Any]) -> bool:
    """Whether a filter is a condition; its value may have been rounded or widened, so that it alone may differ."""
    return bool(known["key"] == condition.of.key.name)


def _filters(arguments: Any) -> Iterator[dict[str, Any]]:
    if isinstance(arguments, dict):
        if "key" in arguments and "operator" in arguments:
            yield arguments
        for each in arguments.values():
            yield from _filters(each)
    elif isinstance(arguments, list):
        for each in arguments:
            yield from _filters(each)


def _texts(arguments: Any) -> Iterator[str]:
    if isinstance(arguments, str):
        yield arguments
    elif isinstance(arguments, dict):
        for each in arguments.values():
            yield from _texts(each)
    elif isinstance(arguments, list | tuple):
        for each in arguments:
            yield from _texts(each)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _remedy(mention: Mention) -> str:
    if mention.properties:
        return "ask for one property, compare it with a number, or say “for each …”"
    if mention.relations:
        return "say between which things it leads"
    return "ask without it, or in two questions"
