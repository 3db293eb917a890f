"""Which identifier of a request goes into which inputs of its path: by the noun before it, by its letters, by what is left."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from datagen.synthetic_request import SampleValue
from datagen.validation.parsed_request import Reading
from datagen.validation.slots import Slot
from datagen.validation.stated_values import Stated
from datagen.validation.tool_slots import ToolSlots
from ontology.names import noun_lemma

__all__ = ["Group", "Said", "assign", "grouped", "shape"]

_ANNOUNCED, _LETTERED, _LEFT = 3, 2, 1
_LONGEST_CODE = 4
"""Digits of a code of a plant, a company, a reason: what is longer is a record's number."""
_FILLERS = frozenset(("no", "number", "nr", "id", "code", "is", "ref", "reference", "s", "called", "named"))
_PLACING = frozenset("in at from to into near inside within around via".split())
_SAME_KIND = re.compile(r"[\s,]*(?:to|and|or|from|plus|&|,|into|vs|than|for|by|with)?[\s,]*")
_WORD = re.compile(r"[a-z]+")
_BRITISH = {"centre": "center", "programme": "program", "licence": "license", "cheque": "check", "catalogue": "catalog"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A value for a group.

    :param sure: whether the words before it or its letters say so.
    """

    text: str
    sure: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Inputs that one value fills: those of one entity, but for two in one tool.

    :param waiting: whether one of them is required and no tool of the path gives it.
    """

    slots: tuple[Slot, ...]
    waiting: bool

    @property
    def required(self) -> bool:
        """Whether a tool cannot do without it."""
        return any(slot.required for slot in self.slots)

    @property
    def is_code(self) -> bool:
        """Whether it takes any code, not the identifier of an entity."""
        return self.slots[0].kind == "code"

    @property
    def person(self) -> bool:
        """Whether it is a person's."""
        return any(slot.person for slot in self.slots)


def grouped(tools: Sequence[ToolSlots], supplied: set[tuple[str, str]]) -> list[Group]:
    """The groups of a path's identifiers and codes, required ones first.

    :param supplied: (tool, parameter) of the inputs that another tool of the path gives.
    """
    found: dict[tuple[str, int], list[Slot]] = {}
    for tool in tools:
        times: dict[str, int] = {}
        for slot in tool.slots:
            if slot.kind in ("id", "code"):
                place = times.get(slot.entity, 0)
                times[slot.entity] = place + 1
                found.setdefault((slot.entity, place), []).append(slot)
    groups = [
        Group(
            slots=tuple(slots),
            waiting=any(slot.required for slot in slots)
            and not any((slot.tool, slot.parameter) in supplied for slot in slots),
        )
        for slots in found.values()
    ]
    return sorted(groups, key=lambda group: (not group.required, group.is_code, group.person))


def assign(
    groups: Sequence[Group], reading: Reading, values: Sequence[SampleValue], enums: set[str]
) -> dict[int, Said]:
    """Number of a group → the value that the request states for it.

    :param values: what the request is known to say for inputs.
    :param enums: allowed values of the path's inputs, in lower case: they are no identifiers.
    """
    taken = _given(groups, reading, values)
    seen = {word for value in taken.values() for word in value.text.split()}
    left = [value for value in _identifiers(reading) if value.text.lower() not in enums and value.text not in seen]
    nouns = _nouns(reading, left)
    like: dict[str, Group] = {}
    for strength in (_ANNOUNCED, _LETTERED, _LEFT):
        for value in list(left):
            if value.text in seen:
                left.remove(value)
                continue
            known = like.get(shape(value.text)) if strength == _LEFT else None
            places = [
                (_preference(group, reading), number)
                for number, group in enumerate(groups)
                if number not in taken
                and _goes_with(group, known)
                and _suits(value, nouns[value.start], group, groups, reading) >= strength
            ]
            if places:
                number = min(places)[1]
                taken[number] = Said(text=value.text, sure=strength > _LEFT)
                if strength > _LEFT:
                    like.setdefault(shape(value.text), groups[number])
                seen.add(value.text)
                left.remove(value)
    return taken


def shape(value: str) -> str:
    """What identifiers of one kind have in common: their letters, else their first digits and their length."""
    match = _WORD.match(value.lower())
    return match[0] if match else f"{value[:2]}{len(value)}"


def _goes_with(group: Group, known: Group | None) -> bool:
    """Whether a value that looks like those of a known group may fill a group: two of one entity, or two people."""
    if known is None or group.is_code:
        return True
    return group.slots[0].entity == known.slots[0].entity or (group.person and known.person)


def _preference(group: Group, reading: Reading) -> int:
    """What a value without an announcement fills first: what nothing else fills, then what may be left out."""
    if group.waiting and not (group.person and reading.first_person):
        return 0
    return 1 if group.is_code or not group.required else 2


def _given(groups: Sequence[Group], reading: Reading, values: Sequence[SampleValue]) -> dict[int, Said]:
    said = {(value.tool, value.parameter): value.value for value in values}
    forms = [one.text for one in reading.of_kind("id", "email", "number")]
    taken: dict[int, Said] = {}
    for number, group in enumerate(groups):
        known = [said[key] for slot in group.slots if (key := (slot.tool, slot.parameter)) in said]
        if known and any(form in known[0] for form in forms):
            taken[number] = Said(text=known[0], sure=True)
    return taken


def _identifiers(reading: Reading) -> list[Stated]:
    return sorted(reading.of_kind("id", "email", "number"), key=lambda value: (value.kind == "number", value.start))


def _nouns(reading: Reading, values: Sequence[Stated]) -> dict[int, str]:
    """Start of a value → the word that announces it; of values in a row, the first one's word."""
    nouns: dict[int, str] = {}
    before: Stated | None = None
    for value in sorted(values, key=lambda value: value.start):
        if before is not None and _SAME_KIND.fullmatch(reading.plain, before.end, value.start):
            nouns[value.start] = nouns[before.start]
        else:
            nouns[value.start] = _word_before(reading, value)
        before = value
    return nouns


def _word_before(reading: Reading, value: Stated) -> str:
    said = _WORD.findall(reading.plain[max(0, value.start - 40) : value.start])
    while said and said[-1] in _FILLERS:
        said.pop()
    return said[-1] if said else ""


def _suits(value: Stated, noun: str, group: Group, groups: Sequence[Group], reading: Reading) -> int:
    """How well a value suits a group, 0 where it does not."""
    if not group.is_code and _is_part(value, group, reading):
        return 0
    if _announces(noun, group):
        return _ANNOUNCED
    if value.kind == "number" or any(_announces(noun, other) for other in groups):
        return 0
    if value.kind == "email":
        return _LEFT if group.person else 0
    match = _WORD.match(value.text.lower())
    letters = match[0] if match else ""
    if letters and any(_abbreviates(letters, slot) for slot in group.slots):
        return _LETTERED
    if letters and any(_abbreviates(letters, slot) for other in groups for slot in other.slots if not other.is_code):
        return 0
    if (
        group.is_code
        and value.text.isdigit()
        and len(value.text) > _LONGEST_CODE
        and group.slots[0].words[-1] != "number"
    ):
        return 0
    if group.is_code or not group.required or group.waiting:
        return _LEFT
    # A tool of the path may give it: only what is named like a record is taken for it.
    return 0 if noun in _PLACING else _LEFT


def _is_part(value: Stated, group: Group, reading: Reading) -> bool:
    """Whether digits number a line of a record (``00050``) or a town (``34117 Kassel``), not a record."""
    if not value.text.isdigit():
        return False
    if value.text[0] == "0" and len(value.text) <= _LONGEST_PART:
        return group.slots[0].entity.split()[-1] not in _NUMBERED
    return len(value.text) == _LONGEST_PART and _TOWN.match(reading.text, value.end) is not None


_LONGEST_PART = 5
_NUMBERED = frozenset(("operation", "item", "line", "step", "position", "activity"))
_TOWN = re.compile(r" [A-Z][a-z]{3,}")


def _announces(noun: str, group: Group) -> bool:
    lemma = noun_lemma(_BRITISH.get(noun, noun)) if noun else ""
    return bool(lemma) and any(lemma in slot.called for slot in group.slots)


def _abbreviates(letters: str, slot: Slot) -> bool:
    """Whether the letters of an identifier stand for the entity: ``LR`` for leave request, ``INC`` for incident."""
    parts = slot.entity.split()
    if len(letters) > 1 and len(parts) > 1 and letters == "".join(part[0] for part in parts)[: len(letters)]:
        return True
    return any(
        part.startswith(letters) or (len(letters) > 1 and part[0] == letters[0] and _within(letters, part))
        for part in parts
    )


def _within(letters: str, word: str) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in letters)
