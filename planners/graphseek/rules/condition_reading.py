"""The conditions of a question, its relation words, and the words that are left."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from planners.graphseek.rules.date_conditions import date_conditions
from planners.graphseek.rules.joined_mentions import Joint, joints_of
from planners.graphseek.rules.question_cues import Bound
from planners.graphseek.rules.question_mentions import Mention
from planners.graphseek.rules.question_reading import NO_VALUE, Condition, Reading, Relation, Stop, value_conditions
from planners.graphseek.rules.said_question import (
    DATES,
    MOST_GAP,
    PLACES,
    PLAN,
    SaidQuestion,
    UnreadableError,
    free_values,
    is_plural,
    names_of,
)

__all__ = ["ConditionReading"]

_HAS = re.compile(r"\b(?:has|have|having|had|with) (?:an?|any) $")
"""Before a property that has a value: ordinary English; no shipped question depends on it."""
_ARTICLES = ("", "a", "an", "the")
"""Between a relation word and a word that is a name: found on the questions on the tool graph, "identify a supplier"."""


class ConditionReading:
    """Reads them into a reading that knows what is asked for, and over which chains."""

    def __init__(self, said: SaidQuestion, reading: Reading) -> None:
        self._said, self._reading = said, reading
        self._joints: dict[Mention, Joint] = {}

    def read_conditions(self) -> None:
        """Read values, comparisons and beginnings of names.

        :raises UnreadableError: when it does not say with what names begin.
        """
        self._joints = joints_of(self._said, [each for each in self._said.rest if free_values(each)])
        for each in self._said.rest:
            if each.values and each not in self._said.used:
                self._read_value(each)
            elif each.properties and each not in self._said.used:
                self._read_comparison(each)
            elif each.is_cue("starts"):
                self._read_start(each)
        self._read_spans()

    def _read_spans(self) -> None:
        """Read "after 2020" where no date is said with it, as a condition on the only one that it may be of."""
        dated = {cue for each in self._said.all for cue in self._said.times_behind(each)}
        for cue in self._said.cues("span"):
            if cue in dated or cue.cue is None:
                continue
            types = {name for stop in (self._reading.target, *self._reading.stops) for name in stop.types}
            keys = [each for each in self._said.lexicon.properties if each.owner in types and each.role in DATES]
            if not keys or not any(each.owner in self._reading.target.types for each in keys):
                raise UnreadableError("nothing that is asked for says when it is")
            if len(keys) > 1:
                names = " or ".join(f"{each.key.name} of {each.owner}" for each in keys)
                raise UnreadableError(f"“{cue.text}” may be of {names}; say it behind one of them")
            self._reading.target.conditions += date_conditions(keys[0], [cue.cue])

    def _read_dates(self, each: Mention, times: Sequence[Mention]) -> None:
        """Read times right behind a date as conditions on it."""
        dates = [key for key in each.properties if key.role in DATES and not key.of_relationship]
        stop = self._owner(each, [key.owner for key in dates])
        keys = [key for key in dates if _may_be(stop, key.owner)]
        if len({key.key.name for key in keys}) > 1:
            raise UnreadableError(f"“{each.text}” may be {' or '.join(key.key.name for key in keys)}")
        for key in keys:
            stop.conditions += date_conditions(key, [cue.cue for cue in times if cue.cue])
        self._said.used.update((each, *times))

    def _read_value(self, each: Mention) -> None:
        plans = [value for value in each.values if value.property.role == PLAN]
        if plans:
            self._reading.plan = plans[0].value
        rest = free_values(each)
        if not rest:
            return
        stop = self._owner(each, [value.property.owner for value in rest])
        before = self._said.before(each)
        only = [cue for cue in self._said.cues("only") if cue is before or 0 < stop.at - cue.end <= 1]
        stop.only = bool(only)
        self._said.used.update(only)
        found = value_conditions(value for value in rest if _may_be(stop, value.property.owner))
        joint = self._joints.get(each)
        if joint is not None and joint.by == "or" and self._is_widened(stop, found, each):
            return
        if negation := self._negation(each, stop):
            self._reading.done.add(negation)
            found = [opposite for condition in found for opposite in condition.opposite]
        stop.conditions += found

    def _is_widened(self, stop: Stop, found: Sequence[Condition], each: Mention) -> bool:
        """Whether a value that "or" joins to one of the same property was added to the condition of that one."""
        last = stop.conditions[-1] if stop.conditions else None
        if last is None or len(found) != 1 or last.of != found[0].of or last.operator not in ("=", "in"):
            return False
        stop.conditions[-1] = Condition(of=last.of, operator="in", value=(*last.values, *found[0].values))
        self._reading.done.update(self._joints[each].cues)
        return True

    def _negation(self, each: Mention, stop: Stop) -> Mention | None:
        """Return "not" right before a value, where it is clear what it leaves out: "that are not novels", "novels but not rare ones".

        Of a type that is not said it may leave out each that has such a neighbour, or each that has another one.
        """
        before, behind = self._said.before(each), self._said.next_to(each)
        if before is None or not before.is_cue("not") or self._said.between(before, each).strip() not in _ARTICLES:
            return None
        if behind is not None and not self._said.between(each, behind).strip() and not behind.types:
            return None
        return before if stop is self._reading.target or stop.at < before.start else None

    def _read_comparison(self, each: Mention) -> None:
        """Read a property with a number behind it, or a bound before or behind; a property of truths alone is true."""
        if times := self._said.times_behind(each):
            self._read_dates(each, times)
            return
        before = self._said.before(each)
        bound, near = self._bound_at(each)
        owned = [found for found in each.properties if not found.of_relationship]
        if operator := self._presence(each, before, bound):
            self._read_presence(each, before, operator)
            return
        if bound is not None and owned:
            stop = self._owner(each, [found.owner for found in owned])
            compared = [
                Condition(of=found, operator=bound.operator, value=bound.number)
                for found in owned
                if _may_be(stop, found.owner) and found.key.type in ("integer", "number")
            ]
            stop.conditions += compared
            if compared and near is not None:
                self._said.used.add(near)
        elif truths := [found for found in owned if found.key.type == "boolean"]:
            is_not = before is not None and before.is_cue("not")
            if before is not None and is_not:
                self._said.used.add(before)
                self._reading.planned.add("not")
            stop = self._owner(each, [found.owner for found in truths])
            stop.conditions += [
                Condition(of=found, operator="=", value=not is_not) for found in truths if found.owner in stop.types
            ]

    def _bound_at(self, each: Mention) -> tuple[Bound | None, Mention | None]:
        """Return the comparison behind or before a property, and the mention that says it."""
        behind, amount = self._said.next_to(each), self._said.amount_behind(each)
        if amount is not None and amount.cue:
            return Bound("=", amount.cue.value), amount
        for near in (behind, self._said.before(each)):
            if near is None or near in self._said.used or self._is_count(each, near):
                continue
            if near.is_cue("bound") and near.cue:
                return near.cue.value, near
            if near.number is not None and near is behind:
                return Bound("=", near.number), near
        return None, None

    def _presence(self, each: Mention, before: Mention | None, bound: Bound | None) -> str:
        """Return the operator of "no price", "without a price" or "has a price"; empty: it is none of them."""
        if any(found.key.type == "boolean" for found in each.properties):
            return ""
        if before is not None and bound is not None and before.is_cue("bound") and bound == Bound("=", 0):
            is_word = not any(map(str.isdigit, before.text)) and not self._said.between(before, each).strip()
            return NO_VALUE if is_word else ""
        return "is_not_null" if bound is None and _HAS.search(self._said.text[: each.start].lower()) else ""

    def _read_presence(self, each: Mention, before: Mention | None, operator: str) -> None:
        """Read whether there is a value at all."""
        owned = [found for found in each.properties if not found.of_relationship]
        if not owned:
            raise UnreadableError(
                f"“{each.text}” stands at relationships, and whether it is there is not looked at here"
            )
        stop = self._owner(each, [found.owner for found in owned])
        keys = [found for found in owned if _may_be(stop, found.owner)]
        if len(keys) > 1:
            raise UnreadableError(f"“{each.text}” may be {' or '.join(key.key.name for key in keys)}")
        stop.conditions += [Condition(of=key, operator=operator, value=0) for key in keys]
        self._said.used.update((each, *([before] if before and operator == NO_VALUE else [])))

    def _is_count(self, each: Mention, number: Mention) -> bool:
        """Whether a number behind a word that is a relationship too is one of nodes: "discovered two moons"."""
        behind = self._said.next_to(number)
        is_of = behind is not None and bool(behind.types) and not self._said.between(number, behind).strip()
        return bool(each.relations) and number.start >= each.end and is_of

    def _read_start(self, each: Mention) -> None:
        behind = self._said.next_to(each)
        if behind is None or not behind.name or each.cue is None:
            raise UnreadableError("it does not say what the names start with")
        for key in (
            found
            for found in self._said.lexicon.properties
            if found.role == "name" and found.owner in self._reading.targets
        ):
            self._reading.target.conditions.append(Condition(of=key, operator=str(each.cue.value), value=behind.name))

    def _owner(self, each: Mention, owners: Sequence[str]) -> Stop:
        """Return the place of the type that a condition is on: the nearest one before it, or behind it; a new one where there is none.

        What is counted has one too, for what stands behind it: "the most tools that write".
        """
        counted = self._reading.counted
        stops = [self._reading.target, *self._reading.stops]
        stops += [counted.of] if counted and counted.of.at < each.start else []
        fitting = [stop for stop in stops if set(stop.types) & set(owners)]
        behind = self._said.next_to(each)
        adjacent = [stop for stop in fitting if behind is not None and stop.at == behind.start and not stop.name]
        before = [stop for stop in fitting if stop.at <= each.start]
        if adjacent or fitting:
            return (adjacent or sorted(before, key=lambda stop: -stop.at) or fitting)[0]
        nearest = next((other for other in reversed(self._said.all) if other.end <= each.start and not other.cue), None)
        for stop in stops:  # "Apollo with a budget above five": of the thing that is named, if it is of such a type
            if stop.name and not stop.types and nearest is not None and nearest.start == stop.at:
                return stop
        stop = Stop(at=each.start, types=tuple(dict.fromkeys(owners)))
        self._reading.chains.append([stop])
        return stop

    def relations(self) -> Iterator[Relation]:
        """Yield the relation words; chains that "not" leaves out are taken out of the others."""
        for each in self._said.all:
            is_word_of_type = any(not type_.own for type_ in each.types)  # "input": a parameter, and that it is taken
            if not each.relations or (each in self._said.used and not is_word_of_type):
                continue
            before = self._said.before(each)
            negated = before is not None and before.is_cue("not") and not self._said.between(before, each).strip()
            if before is not None and negated:
                self._said.used.add(before)
            chain = self._chain_behind(each) if negated else None
            if chain is not None and any(joined.by != "or" for stop in chain for joined in stop.joined):
                raise UnreadableError("it is not clear how far “not” goes; join what is left out by “or”")
            if chain is not None:
                self._reading.chains.remove(chain)
                self._reading.without.append(chain)
                yield Relation(mention=each, only_for=chain[0].at)
            else:
                yield Relation(mention=each, negated=negated)

    def _chain_behind(self, relation: Mention) -> list[Stop] | None:
        """The chain that a relation word stands before: "do not take the parameter …", but not "do not return it"."""
        for chain in self._reading.chains:
            between = self._said.text[relation.end : chain[0].at]
            is_near = relation.end <= chain[0].at <= relation.end + MOST_GAP
            if is_near and not re.search(r"\b(?:it|them)\b|,", between.lower()):
                return chain
        return None

    def read_remaining(self) -> None:
        """Take words that were not read as names, where a relation has no other end; keep the others.

        :raises UnreadableError: when a word means nothing, and nothing else was read.
        """
        unread = list(self._said.unread)
        is_open = not self._reading.named
        for each in unread[:]:
            before = self._said.before(each)
            follows = (
                before is not None
                and (before.relations or before.types)
                and self._said.between(before, each).strip() in _ARTICLES
            )
            is_plain = (
                before is not None and bool(before.types) and is_plural(before.text) and each.before not in PLACES
            )
            if is_open and before is not None and not is_plain and (follows or each.before in PLACES):
                types = names_of(before.types) if not self._said.between(before, each).strip() else ()
                self._reading.chains = [chain for chain in self._reading.chains if chain[-1].at != before.start]
                self._reading.chains.append([Stop(at=each.start, types=types, name=each.text)])
                unread.remove(each)
                is_open = False
        self._reading.unread = tuple(each.text for each in unread if each.text.lower() not in self._said.lexicon.units)
        if self._reading.where and (self._reading.asked or self._reading.is_target_said):
            self._reading.unread += ("where",)
        if self._reading.unread and not self._reading.is_narrowed:
            raise UnreadableError(f"“{self._reading.unread[0]}” means nothing here")


def _may_be(stop: Stop, owner: str) -> bool:
    """Whether a place may be of a type: also one of which only a name is known."""
    return owner in stop.types or not stop.types
