"""Which identifier of a request fills which inputs of its path: by its noun, by its letters, by what is left."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum

from datagen.patterns import load_patterns
from datagen.synthetic_request import SampleValue
from datagen.validation.parsed_request import ParsedRequest
from datagen.validation.slots import Slot, SlotKey
from datagen.validation.stated_values import StatedValue
from datagen.validation.tool_slots import ToolSlots
from ontology.names import noun_lemma

__all__ = ["AssignedValue", "SlotGroup", "assign_values", "group_slots", "identifier_shape"]

_VALUES = load_patterns("validation/values")
_AMERICAN = dict(load_patterns("validation/tools").pairs("british"))
_LETTERS = re.compile(r"[a-z]+")
_MAX_CODE_DIGITS = 4
"""Digits of a code of a plant, a company, a reason; a longer one is a record's number."""
_MAX_PART_DIGITS = 5
"""Digits of a line of a record, and those of a postal code."""
_MAX_CHARS_BEFORE = 40  # of an identifier, in which its noun is looked for


class _Fit(IntEnum):
    """How well a value fits a group."""

    NONE = 0
    LEFT = 1  # no evidence against it
    LETTERS = 2  # its letters abbreviate the entity
    ANNOUNCED = 3  # the noun before it names the entity


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedValue:
    """A value for a group.

    :param certain: whether the words before it or its letters say so.
    """

    text: str
    certain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotGroup:
    """Inputs that one value fills: those of one entity, but not two of one tool.

    :param unsupplied: whether one of them is required and no tool of the path gives it.
    """

    slots: tuple[Slot, ...]
    unsupplied: bool

    @property
    def required(self) -> bool:
        """Whether a tool requires it."""
        return any(slot.required for slot in self.slots)

    @property
    def is_code(self) -> bool:
        """Whether it takes any code, not the identifier of an entity."""
        return self.slots[0].kind == "code"

    @property
    def person(self) -> bool:
        """Whether it is a person's."""
        return any(slot.person for slot in self.slots)

    @property
    def entity(self) -> str:
        """What its value identifies."""
        return self.slots[0].entity


def group_slots(tools: Sequence[ToolSlots], supplied: Collection[SlotKey]) -> list[SlotGroup]:
    """The groups of a path's identifiers and codes, required ones first.

    :param supplied: the inputs that another tool of the path gives.
    """
    found: dict[tuple[str, int], list[Slot]] = {}
    for tool in tools:
        times: dict[str, int] = {}
        for slot in tool.slots:
            if slot.kind in ("id", "code"):
                number = times.get(slot.entity, 0)
                times[slot.entity] = number + 1
                found.setdefault((slot.entity, number), []).append(slot)
    groups = [
        SlotGroup(
            slots=tuple(slots),
            unsupplied=any(slot.required for slot in slots) and not any(slot.key in supplied for slot in slots),
        )
        for slots in found.values()
    ]
    return sorted(groups, key=lambda group: (not group.required, group.is_code, group.person))


def assign_values(
    groups: Sequence[SlotGroup], parsed: ParsedRequest, values: Sequence[SampleValue], enums: Collection[str]
) -> dict[int, AssignedValue]:
    """Number of a group → the value that the request states for it.

    :param values: what the request is known to say for inputs.
    :param enums: allowed values of the path's inputs, in lower case: they are no identifiers.
    """
    assigned = _known_values(groups, parsed, values)
    seen = {word for value in assigned.values() for word in value.text.split()}
    left = [value for value in _identifiers(parsed) if value.text.lower() not in enums and value.text not in seen]
    nouns = _announcing_words(parsed, left)
    by_shape: dict[str, SlotGroup] = {}
    for fit in (_Fit.ANNOUNCED, _Fit.LETTERS, _Fit.LEFT):
        for value in list(left):
            if value.text in seen:
                left.remove(value)
                continue
            alike = by_shape.get(identifier_shape(value.text)) if fit == _Fit.LEFT else None
            numbers = [
                (_preference(group, parsed), number)
                for number, group in enumerate(groups)
                if number not in assigned
                and _goes_with(group, alike)
                and _fit(value, nouns[value.start], group, groups, parsed) >= fit
            ]
            if numbers:
                number = min(numbers)[1]
                assigned[number] = AssignedValue(text=value.text, certain=fit > _Fit.LEFT)
                if fit > _Fit.LEFT:
                    by_shape.setdefault(identifier_shape(value.text), groups[number])
                seen.add(value.text)
                left.remove(value)
    return assigned


def identifier_shape(value: str) -> str:
    """What identifiers of one kind have in common: their letters, else their first digits and their length."""
    match = _LETTERS.match(value.lower())
    return match[0] if match else f"{value[:2]}{len(value)}"


def _goes_with(group: SlotGroup, alike: SlotGroup | None) -> bool:
    """Whether a value of the shape of another group's may fill a group: two of one entity, or two people."""
    if alike is None or group.is_code:
        return True
    return group.entity == alike.entity or (group.person and alike.person)


def _preference(group: SlotGroup, parsed: ParsedRequest) -> int:
    """What a value without an announcement fills first: what nothing else fills, then what may be left out."""
    if group.unsupplied and not (group.person and parsed.first_person):
        return 0
    return 1 if group.is_code or not group.required else 2


def _known_values(
    groups: Sequence[SlotGroup], parsed: ParsedRequest, values: Sequence[SampleValue]
) -> dict[int, AssignedValue]:
    by_key = {(value.tool, value.parameter): value.value for value in values}
    forms = [value.text for value in parsed.of_kind("id", "email", "number")]
    assigned: dict[int, AssignedValue] = {}
    for number, group in enumerate(groups):
        known = next((by_key[slot.key] for slot in group.slots if slot.key in by_key), "")
        if any(form in known for form in forms):
            assigned[number] = AssignedValue(text=known, certain=True)
    return assigned


def _identifiers(parsed: ParsedRequest) -> list[StatedValue]:
    return sorted(parsed.of_kind("id", "email", "number"), key=lambda value: (value.kind == "number", value.start))


def _announcing_words(parsed: ParsedRequest, values: Sequence[StatedValue]) -> dict[int, str]:
    """Start of a value → the word that announces it; of values in a row, the first one's word."""
    words: dict[int, str] = {}
    before: StatedValue | None = None
    for value in sorted(values, key=lambda value: value.start):
        if before is not None and _VALUES["between_same"].fullmatch(parsed.masked, before.end, value.start):
            words[value.start] = words[before.start]
        else:
            words[value.start] = _word_before(parsed, value)
        before = value
    return words


def _word_before(parsed: ParsedRequest, value: StatedValue) -> str:
    words = _LETTERS.findall(parsed.masked[max(0, value.start - _MAX_CHARS_BEFORE) : value.start])
    return next((word for word in reversed(words) if word not in _VALUES.words("fillers")), "")


def _fit(value: StatedValue, noun: str, group: SlotGroup, groups: Sequence[SlotGroup], parsed: ParsedRequest) -> _Fit:
    """How well a value fits a group."""
    if not group.is_code and _is_part(value, group, parsed):
        return _Fit.NONE
    if _announces(noun, group):
        return _Fit.ANNOUNCED
    if value.kind == "number" or any(_announces(noun, other) for other in groups):
        return _Fit.NONE
    if value.kind == "email":
        return _Fit.LEFT if group.person else _Fit.NONE
    match = _LETTERS.match(value.text.lower())
    if match and _abbreviates(match[0], group):
        return _Fit.LETTERS
    if match and any(_abbreviates(match[0], other) for other in groups if not other.is_code):
        return _Fit.NONE
    if group.is_code and value.text.isdigit() and len(value.text) > _MAX_CODE_DIGITS:
        if group.slots[0].last_word != "number":
            return _Fit.NONE
    if group.is_code or not group.required or group.unsupplied:
        return _Fit.LEFT
    # A tool of the path may give it: only what is named like a record is taken for it.
    return _Fit.NONE if noun in _VALUES.words("placing") else _Fit.LEFT


def _is_part(value: StatedValue, group: SlotGroup, parsed: ParsedRequest) -> bool:
    """Whether digits number a line of a record (``00050``) or a town (``34117 Kassel``), not a record."""
    if not value.text.isdigit():
        return False
    if value.text[0] == "0" and len(value.text) <= _MAX_PART_DIGITS:
        return group.entity.split()[-1] not in _VALUES.words("numbered_parts")
    return len(value.text) == _MAX_PART_DIGITS and _VALUES["town"].match(parsed.text, value.end) is not None


def _announces(noun: str, group: SlotGroup) -> bool:
    lemma = noun_lemma(_AMERICAN.get(noun, noun)) if noun else ""
    return bool(lemma) and any(lemma in slot.announced_by for slot in group.slots)


def _abbreviates(letters: str, group: SlotGroup) -> bool:
    """Whether the letters of an identifier abbreviate the entity: ``LR`` for leave request, ``INC`` for incident."""
    parts = group.entity.split()
    several = len(letters) > 1
    if several and len(parts) > 1 and "".join(part[0] for part in parts).startswith(letters):
        return True
    return any(
        part.startswith(letters) or (several and part[0] == letters[0] and _within(letters, part)) for part in parts
    )


def _within(letters: str, word: str) -> bool:
    """Whether the letters occur in the word, in their order."""
    rest = iter(word)
    return all(letter in rest for letter in letters)
