"""The Fit of a request and its path: what fills each input, which tools feed which, and which nobody waits for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from datagen.catalogue import Catalogue
from datagen.checks.assign import assign, grouped
from datagen.checks.everyday import PERSONS
from datagen.checks.reading import Reading, read
from datagen.checks.slots import Slot
from datagen.checks.toolslots import Slots, ToolSlots
from datagen.links import Links
from datagen.request import SyntheticRequest
from ingest.linking.identifiers import GENERIC

__all__ = ["Fit", "Fitter"]

_BY_DEFAULT = frozenset(("paging", "flag", "date", "enum", "count"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How a path serves a request.

    :param stated: identifiers that the request states, with the slot each fills.
    :param fed: (source, target) positions where an output of one fills an input of the other that nothing else fills.
    :param named: ids of the tools of which the request states an identifier that can be nothing else.
    :param needed: positions of tools without which another lacks a required input; where several would do, one of them.
    :param supplied: (tool, parameter) of the inputs that an earlier tool fills.
    :param passed: (tool, parameter) of the plain inputs that an output of an earlier tool fills.
    :param backward: positions of two tools of which the later one gives what the earlier one takes, and never the other
        way round, while nothing else gives it.
    :param missing: required identifiers that neither the request nor an earlier tool gives.
    :param late: of these, the ones that a later tool would give: (slot, position of the later tool).
    :param apart: positions of tools that have nothing to do with the others.
    """

    tools: tuple[ToolSlots, ...]
    stated: tuple[tuple[Slot, str], ...]
    fed: frozenset[tuple[int, int]]
    supplied: frozenset[tuple[str, str]]
    missing: tuple[Slot, ...]
    late: tuple[tuple[Slot, int], ...]
    apart: tuple[int, ...]

    needed: frozenset[int]
    named: frozenset[str]
    passed: frozenset[tuple[str, str]]
    backward: tuple[tuple[int, int], ...]

    @property
    def shared(self) -> bool:
        """Whether two tools are told the same: a value of the request fills inputs of both."""
        tools: dict[str, set[str]] = {}
        for slot, value in self.stated:
            tools.setdefault(value, set()).add(slot.tool)
        return any(len(told) > 1 for told in tools.values())

    @property
    def loose_ends(self) -> tuple[int, ...]:
        """Positions of the tools that no other must have, where an input takes one source if it can have several."""
        return tuple(place for place in range(len(self.tools)) if place not in self.needed)

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
        return self._fit(replace(request, verdicts=()) if request.verdicts else request)

    def _find(self, request: SyntheticRequest) -> Fit:
        tools = tuple(self._slots.of(tool_id) for tool_id in request.path.tools)
        return _fit(request, read(request.text), tools, _edges(request, self._rp))


Edges = Mapping[tuple[str, str], frozenset[str]]
"""(source, target) → the inputs of the target that the source fills."""


def _edges(request: SyntheticRequest, rp: Links) -> Edges:
    tools = request.path.tools
    found: dict[tuple[str, str], frozenset[str]] = {}
    for source in tools:
        for target in tools:
            between = rp.between(source, target) if source != target else ()
            if between:
                found[source, target] = frozenset(edge.parameter for edge in between if edge.kind == "R-P")
    for edge in request.path.edges:
        if edge.kind == "R-P":
            known = found.get((edge.source, edge.target), frozenset())
            found[edge.source, edge.target] = known | {edge.parameter}
    return found


def _fit(request: SyntheticRequest, reading: Reading, tools: tuple[ToolSlots, ...], edges: Edges) -> Fit:
    sources = {
        (slot.tool, slot.parameter): tuple(
            at for at, source in enumerate(tools) if at != place and _supplies(source, slot, edges)
        )
        for place, tool in enumerate(tools)
        for slot in tool.slots
        if slot.kind not in _BY_DEFAULT
    }
    groups = grouped(tools, {key for key, found in sources.items() if found})
    enums = {value.lower() for tool in tools for slot in tool.slots for value in slot.enum}
    taken = assign(groups, reading, request.values, enums)
    stated = tuple((slot, taken[number].text) for number in sorted(taken) for slot in groups[number].slots)
    named = frozenset(slot.tool for number, one in taken.items() if one.sure for slot in groups[number].slots)
    filled = {(slot.tool, slot.parameter) for slot, _ in stated}
    given = {(value.tool, value.parameter) for value in request.values}
    fed: set[tuple[int, int]] = set()
    choices: list[list[int]] = []
    supplied: set[tuple[str, str]] = set()
    missing: list[Slot] = []
    late: list[tuple[Slot, int]] = []
    for place, slot in _unfilled(tools, filled):
        key = (slot.tool, slot.parameter)
        before = [at for at in (*sources[key], *_lends(tools, place, slot, reading)) if at < place]
        if before:
            supplied.add(key)
            given_by = [at for at in sources[key] if at < place]
            choices.extend([given_by] if slot.required and given_by else [])
            fed.update((at, place) for at in before)
        elif slot.kind == "id" and slot.required and key not in given and not _by_default(slot, reading):
            missing.append(slot)
            late.extend((slot, at) for at in sources[key] if at > place)
    passed = frozenset(
        (target.id, parameter)
        for place, target in enumerate(tools)
        for source in tools[:place]
        for parameter in edges.get((source.id, target.id), ())
    )
    return Fit(
        tools=tools,
        stated=stated,
        fed=frozenset(fed),
        needed=_needed(choices),
        supplied=frozenset(supplied),
        missing=tuple(missing),
        late=tuple(late),
        apart=_apart(tools, edges),
        named=named,
        passed=passed,
        backward=tuple(_backward(tools, edges, filled | given | supplied | passed, fed)),
    )


def _backward(
    tools: Sequence[ToolSlots], edges: Edges, filled: set[tuple[str, str]], fed: set[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    for first, tool in enumerate(tools):
        told = any((source.id, tool.id) in edges for source in tools[:first])
        for later in range(first + 1, len(tools)):
            takes = edges.get((tools[later].id, tool.id), frozenset())
            if not takes or (tool.id, tools[later].id) in edges or (first, later) in fed:
                continue
            if not told or any((tool.id, parameter) not in filled for parameter in takes):
                yield first, later


def _needed(choices: Sequence[Sequence[int]]) -> frozenset[int]:
    """One source for each input: one that is needed anyway, else the nearest."""
    needed: set[int] = set()
    for sources in sorted(choices, key=len):
        if not needed & set(sources):
            needed.add(max(sources))
    return frozenset(needed)


def _unfilled(tools: Sequence[ToolSlots], filled: set[tuple[str, str]]) -> Iterator[tuple[int, Slot]]:
    for place, tool in enumerate(tools):
        for slot in tool.slots:
            if slot.kind not in _BY_DEFAULT and (slot.tool, slot.parameter) not in filled:
                yield place, slot


def _by_default(slot: Slot, reading: Reading) -> bool:
    """Whether the one who asks is meant: they speak of themselves, or of nobody else."""
    if not slot.person or not reading.people:
        return slot.person
    return reading.first_person and (reading.of_myself or not reading.of_another)


def _lends(tools: Sequence[ToolSlots], place: int, slot: Slot, reading: Reading) -> Iterator[int]:
    """Earlier look-ups that give what nobody types: texts, lists and addresses of the same trade, things found by their words."""
    typed = slot.kind in ("list", "email") and reading.of_kind("email")
    if slot.required and slot.kind in ("text", "code", "list", "email") and not typed:
        yield from (at for at in range(place) if _tells(tools[at], tools[place], slot))
    if slot.kind in ("text", "code"):
        for at in range(place):
            head = tools[at].entity.split()[-1:]
            if tools[at].resolves and not tools[at].knowledge and head and head[0] in slot.words:
                yield at


def _tells(source: ToolSlots, target: ToolSlots, slot: Slot) -> bool:
    """Whether a look-up in the same trade can be what somebody takes a text, a code or a list from."""
    if not source.reads or source.knowledge or not source.group or source.group != target.group:
        return False
    if slot.kind in ("list", "email"):
        return True
    if slot.kind == "code":
        return slot.entity in source.gives or (source.silent and not source.resolves)
    return not target.reads and not source.resolves


def _supplies(source: ToolSlots, slot: Slot, edges: Edges) -> bool:
    """Whether a tool gives what the slot takes; what it must first be told itself, it does not give."""
    if slot.tool == source.id:
        return False
    told = [own for own in source.slots if own.kind == "id" and own.required and own.entity == slot.entity]
    edge = slot.parameter in edges.get((source.id, slot.tool), ())
    if told:
        # The manager of a person is another person.
        other = source.entity.split()[-1:]
        return slot.person and source.entity != slot.entity and (edge or bool(other and other[0] in PERSONS))
    if slot.kind == "id" and not slot.findable and source.reads and not source.knowledge:
        return True  # No document says who gives it, so any look-up may.
    return edge or (slot.kind == "id" and _gives(slot.entity, source))


def _gives(entity: str, source: ToolSlots) -> bool:
    """Whether a tool gives an entity: as it is called, or by the head of its name."""
    head = _head(entity)
    return entity in source.gives or any(_head(gives) == head for gives in source.gives)


def _head(entity: str) -> str:
    """The noun that says what it is: ``request`` of ``request for quotation``, ``order`` of ``sale order``."""
    before, _, _ = entity.partition(" for ")
    before, _, _ = before.partition(" of ")
    return before.rpartition(" ")[2]


def _apart(tools: Sequence[ToolSlots], edges: Edges) -> tuple[int, ...]:
    """Positions outside the largest set of tools that have to do with each other."""
    sets = [{place} for place in range(len(tools))]
    for one in range(len(tools)):
        for other in range(one + 1, len(tools)):
            if _related(tools[one], tools[other], edges):
                joined = next(found for found in sets if one in found) | next(found for found in sets if other in found)
                sets = [found for found in sets if not found & joined] + [joined]
    largest = max(sets, key=lambda places: (len(places), max(places)), default=set())
    return tuple(place for place in range(len(tools)) if place not in largest and not tools[place].own)


def _feeds(source: ToolSlots, target: ToolSlots, edges: Edges) -> bool:
    return any(slot.kind == "id" and _supplies(source, slot, edges) for slot in target.slots)


def _related(one: ToolSlots, other: ToolSlots, edges: Edges) -> bool:
    if _feeds(one, other, edges) or _feeds(other, one, edges):
        return True
    if one.group and one.group == other.group:
        return True
    if one.entity and one.entity == other.entity:
        return True
    if _takes(one, other) or _takes(other, one):
        return True
    if (one.person and other.takes_person) or (other.person and one.takes_person):
        return True
    return bool(one.keys & (other.keys | other.gives)) or bool(other.keys & one.gives)


def _takes(one: ToolSlots, other: ToolSlots) -> bool:
    """Whether a tool has an input for what another is about, or is told."""
    if (one.keys | ({one.entity} - GENERIC)) & (other.takes | other.keys):
        return True
    head = one.entity.split()[-1:]
    return one.resolves and bool(head) and any(head[0] in name.split() for name in other.takes)
