"""The Fit of a request and its path: what fills each input, which tools feed which, and which nobody waits for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from datagen.catalogue import Catalogue
from datagen.checks.reading import Reading, read
from datagen.checks.slots import PERSONS, Slot, Slots, ToolSlots
from datagen.checks.values import Stated
from datagen.links import Links
from datagen.request import SyntheticRequest
from ontology.names import is_noun, noun_lemma

__all__ = ["Fit", "Fitter"]


Edges = dict[tuple[str, str], set[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How a path serves a request.

    :param stated: identifiers that the request states, with the slot each fills.
    :param fed: (source, target) positions where an output of one fills an input of the other that nothing else fills.
    :param missing: required identifiers that neither the request nor an earlier tool gives.
    :param late: of these, the ones that a later tool would give: (slot, position of the later tool).
    :param apart: positions of tools that have nothing to do with the others.
    """

    tools: tuple[ToolSlots, ...]
    stated: tuple[tuple[Slot, str], ...]
    fed: frozenset[tuple[int, int]]
    missing: tuple[Slot, ...]
    late: tuple[tuple[Slot, int], ...]
    apart: tuple[int, ...]

    @property
    def ends(self) -> tuple[int, ...]:
        """Positions of the tools that feed no other."""
        feeding = {source for source, _ in self.fed}
        return tuple(place for place in range(len(self.tools)) if place not in feeding)


class Fitter:
    """Fits requests to the paths of one catalogue; the last ones are remembered, for those who judge one after another.

    :param rp: the R-P edges of the catalogue.
    """

    def __init__(self, catalogue: Catalogue, rp: Links) -> None:
        self._slots = Slots(catalogue)
        self._rp = rp
        self._fit = lru_cache(maxsize=256)(self._find)

    def fit(self, request: SyntheticRequest) -> Fit:
        """How the path of a request serves it.

        :raises NotFoundError: when the catalogue lacks a tool of the path.
        """
        return self._fit(replace(request, verdicts=()))

    def _find(self, request: SyntheticRequest) -> Fit:
        tools = tuple(self._slots.of(tool_id) for tool_id in request.path.tools)
        return _fit(request, tools, _edges(request, self._rp))


def _fit(request: SyntheticRequest, tools: tuple[ToolSlots, ...], edges: Edges) -> Fit:
    reading = read(request.text)
    stated = _assign(request, reading, tools, edges)
    filled = {(slot.tool, slot.parameter) for slot, _ in stated}
    given = {(value.tool, value.parameter) for value in request.values}
    entities_filled = {slot.entity for slot, _ in stated}
    fed: set[tuple[int, int]] = set()
    missing: list[Slot] = []
    late: list[tuple[Slot, int]] = []
    for place, tool in enumerate(tools):
        for slot in tool.slots:
            key = (slot.tool, slot.parameter)
            if key in filled or slot.kind in ("paging", "flag"):
                continue
            if slot.kind in ("list", "email") and slot.required and not reading.of_kind("email"):
                # Addresses and lists that nobody types are what a look-up in the same trade gives.
                fed.update((at, place) for at in range(place) if tools[at].reads and _same_trade(tools[at], tool))
            sources = [at for at in range(len(tools)) if at != place and _supplies(tools[at], slot, edges)]
            fed.update((at, place) for at in sources if at < place and (key not in given or slot.kind == "id"))
            if slot.kind != "id" or not slot.required or key in given or any(at < place for at in sources):
                continue
            if slot.entity in entities_filled and _times(tool, slot.entity) == 1:
                continue
            if slot.person and (reading.first_person or not reading.of_kind("name")):
                continue
            missing.append(slot)
            late.extend((slot, at) for at in sources if at > place)
    return Fit(
        tools=tools,
        stated=tuple(stated),
        fed=frozenset(fed),
        missing=tuple(missing),
        late=tuple(late),
        apart=_apart(tools, edges),
    )


def _same_trade(one: ToolSlots, other: ToolSlots) -> bool:
    return bool(one.group) and one.group == other.group


def _times(tool: ToolSlots, entity: str) -> int:
    return sum(slot.required and slot.entity == entity for slot in tool.slots)


def _edges(request: SyntheticRequest, rp: Links) -> Edges:
    """(source, target) → the inputs of the target that the source fills, of the tools of the path."""
    tools = request.path.tools
    found: Edges = {}
    for source in tools:
        for target in tools:
            if source != target and (between := rp.between(source, target)):
                found[source, target] = {edge.parameter for edge in between if edge.kind == "R-P"}
    for edge in request.path.edges:
        if edge.kind == "R-P":
            found.setdefault((edge.source, edge.target), set()).add(edge.parameter)
    return found


def _supplies(source: ToolSlots, slot: Slot, edges: Edges) -> bool:
    """Whether a tool gives what the slot takes; what it must first be told itself, it does not give."""
    if slot.tool == source.id:
        return False
    told = {own.entity for own in source.slots if own.kind == "id" and own.required}
    if slot.kind == "id" and slot.entity in told and source.entity in ("", slot.entity):
        return False
    if (
        slot.person
        and source.entity.split()[-1:]
        and source.entity.split()[-1] in PERSONS
        and source.entity != slot.entity
    ):
        return True
    if slot.parameter in edges.get((source.id, slot.tool), ()):
        return slot.entity not in told or source.entity != slot.entity
    return slot.kind == "id" and slot.entity not in told and _alike(slot.entity, source)


def _alike(entity: str, source: ToolSlots) -> bool:
    """Whether a tool gives an entity: as it is called, or by the head of its name."""
    if entity in source.gives:
        return True
    head = entity.split()[-1]
    return any(gives.split()[-1:] == [head] for gives in source.gives if gives) and len(head) > 3


def _assign(
    request: SyntheticRequest, reading: Reading, tools: Sequence[ToolSlots], edges: Edges
) -> list[tuple[Slot, str]]:
    """The identifiers that the request states, each put into a slot: by the words before it, by its letters, by what is open."""
    groups = _groups(tools, edges)
    taken: dict[int, str] = {}
    given = {(value.tool, value.parameter): value.value for value in request.values}
    for number, group in enumerate(groups):
        known = next((given[slot.tool, slot.parameter] for slot in group if (slot.tool, slot.parameter) in given), None)
        if known is not None and any(
            one.kind in ("id", "email", "number") for one in reading.values if one.text in known
        ):
            taken[number] = known
    enums = {value.lower() for tool in tools for slot in tool.slots for value in slot.enum}
    open_ = [_open(group, tools, edges) for group in groups]
    seen = {word for value in taken.values() for word in value.split()}
    left: list[Stated] = []
    for value in _identifiers(reading):
        if value.text.lower() not in enums and value.text not in seen:
            seen.add(value.text)
            left.append(value)
    for strength in (3, 2, 1):
        for value in list(left):
            best = [
                (not open_[number], number)
                for number, group in enumerate(groups)
                if number not in taken and _suits(value, group[0], reading, groups, open_slot=open_[number]) >= strength
            ]
            if best:
                taken[min(best)[1]] = value.text
                left.remove(value)
    return [(slot, taken[number]) for number, group in enumerate(groups) if number in taken for slot in group]


def _identifiers(reading: Reading) -> list[Stated]:
    found = list(reading.of_kind("id", "email"))
    for value in reading.of_kind("number"):
        before = _word_before(reading, value)
        if value.text.isdigit() and before and noun_lemma(before) == before and before not in _NO_NOUN:
            found.append(value)
    return found


_NO_NOUN = frozenset(
    "to from for of with at by in on until since than and or about around over under below above than least most only just another order "
    "up down out off is are was be the a an my all next last first past".split()
)


def _word_before(reading: Reading, value: Stated) -> str:
    words_before = re.findall(r"[a-z]+", reading.plain[max(0, value.start - 40) : value.start])
    while words_before and words_before[-1] in ("no", "number", "nr", "id", "code", "is", "ref", "reference", "s"):
        words_before.pop()
    return words_before[-1] if words_before else ""


def _groups(tools: Sequence[ToolSlots], edges: Edges) -> list[list[Slot]]:
    """Identifier slots that one value fills: those of one entity, but for two in one tool."""
    groups: dict[tuple[str, int], list[Slot]] = {}
    optional: dict[tuple[str, int], list[Slot]] = {}
    for tool in tools:
        times: dict[str, int] = {}
        for slot in tool.slots:
            if slot.kind not in ("id", "code"):
                continue
            key = (slot.entity, times.get(slot.entity, 0))
            times[slot.entity] = key[1] + 1
            (groups if slot.required else optional).setdefault(key, []).append(slot)
    for key, slots in optional.items():
        if key in groups:
            groups[key].extend(slots)
    return [*groups.values(), *(slots for key, slots in optional.items() if key not in groups)]


def _open(group: Sequence[Slot], tools: Sequence[ToolSlots], edges: Edges) -> bool:
    """Whether no tool of the path fills a required slot of the group."""
    return any(slot.required for slot in group) and not any(
        _supplies(tool, slot, edges) for tool in tools for slot in group
    )


def _suits(value: Stated, slot: Slot, reading: Reading, groups: Sequence[Sequence[Slot]], *, open_slot: bool) -> int:
    """How well a value suits a slot: 3 by the word before it, 2 by its letters, 1 where nothing says otherwise."""
    before = noun_lemma(_word_before(reading, value))
    if value.kind == "email":
        return 1 if slot.person else 0
    if before and before in _heads(slot):
        return 3
    if before and any(before in _heads(group[0]) for group in groups):
        return 0
    letters = re.match(r"[a-z]+", value.text.lower())
    if letters and _abbreviates(letters[0], slot):
        return 2
    if letters and any(_abbreviates(letters[0], group[0]) and group[0].required for group in groups):
        return 0
    if slot.kind == "code":
        return 1
    if not slot.required:
        return 0
    # What nothing ties to the slot goes there when a tool of the path would have to give it only where a noun announces it.
    return 1 if open_slot or (before and is_noun(before)) or len(reading.of_kind("id")) == 1 else 0


def _heads(slot: Slot) -> tuple[str, ...]:
    return tuple(slot.entity.split())


def _abbreviates(letters: str, slot: Slot) -> bool:
    """Whether the letters of an identifier stand for the entity: ``LR`` for leave request, ``INC`` for incident."""
    parts = slot.entity.split()
    if len(letters) > 1 and len(parts) > 1 and letters == "".join(part[0] for part in parts)[: len(letters)]:
        return True
    return any(part.startswith(letters) for part in parts) or (
        len(letters) > 1 and any(part[0] == letters[0] and _within(letters, part) for part in parts)
    )


def _within(letters: str, word: str) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in letters)


def _apart(tools: Sequence[ToolSlots], edges: Edges) -> tuple[int, ...]:
    """Positions outside the largest set of tools that have to do with each other."""
    if len(tools) < 2:
        return ()
    parent = list(range(len(tools)))

    def root(place: int) -> int:
        while parent[place] != place:
            place = parent[place]
        return place

    for one in range(len(tools)):
        for other in range(one + 1, len(tools)):
            if _related(tools[one], tools[other], edges):
                parent[root(other)] = root(one)
    sizes: dict[int, list[int]] = {}
    for place in range(len(tools)):
        sizes.setdefault(root(place), []).append(place)
    largest = max(sizes.values(), key=lambda places: (len(places), max(places)))
    return tuple(place for place in range(len(tools)) if place not in largest)


def _related(one: ToolSlots, other: ToolSlots, edges: Edges) -> bool:
    if (one.id, other.id) in edges or (other.id, one.id) in edges:
        return True
    if one.group and one.group == other.group:
        return True
    if one.entity and (one.entity == other.entity or one.entity in other.keys or other.entity in one.keys):
        return True
    return bool(one.keys & other.keys) or bool((one.keys & other.gives) | (other.keys & one.gives))
