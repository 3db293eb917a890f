"""The Fit of a request and its path: what fills each input, which tools feed which, and which nobody waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.synthetic_request import SyntheticRequest
from datagen.validation.connections import Edges, apart, idle, strangers, supplies
from datagen.validation.parsed_request import Reading, read
from datagen.validation.slots import Slot
from datagen.validation.tool_slots import Slots, ToolSlots
from datagen.validation.value_assignment import Group, Said, assign, grouped, shape

__all__ = ["Fit", "Fitter"]

_SIDE_BY_SIDE = frozenset(("multi-intent", "ir-multi-intent"))
_BY_DEFAULT = frozenset(("paging", "flag", "date", "enum", "count"))

_Key = tuple[str, str]
"""(tool, parameter)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How a path serves a request.

    :param stated: identifiers that the request states, with the slot each fills.
    :param fed: (source, target) positions where an output of one fills an input of the other that nothing else fills.
    :param named: ids of the tools of which the request states an identifier that can be nothing else.
    :param needed: positions of tools without which another lacks a required input; where several would do, one of them.
    :param supplied: (tool, parameter) of the inputs that an earlier tool fills.
    :param passed: (tool, parameter) of the plain inputs that an output of an earlier tool fills.
    :param strangers: positions of tools that no datum joins to another: neither gives, takes nor is told what another is.
    :param idle: positions of tools, but for the last, of which no other takes anything.
    :param once: inputs of tools side by side that want a record each, while the request states only one.
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
    strangers: tuple[int, ...]
    idle: tuple[int, ...]
    once: tuple[Slot, ...]

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
    """Fits requests to the paths of one catalogue; the last ones are remembered, for those who validator one after another.

    :param rp: the R-P edges of the catalogue.
    """

    def __init__(self, catalogue: Catalogue, rp: Links) -> None:
        self._slots = Slots(catalogue)
        self._catalogue = catalogue
        self._rp = rp
        self._fit = lru_cache(maxsize=256)(self._find)

    def fit(self, request: SyntheticRequest) -> Fit:
        """How the path of a request serves it.

        :raises NotFoundError: when the catalogue lacks a tool of the path.
        """
        return self._fit(replace(request, verdicts=()) if request.verdicts else request)

    def all_tools(self) -> Iterator[ToolSlots]:
        """What is known of each tool of the catalogue."""
        return (self._slots.of(tool.id) for tool in self._catalogue.tools)

    def _find(self, request: SyntheticRequest) -> Fit:
        tools = tuple(self._slots.of(tool_id) for tool_id in request.path.tools)
        return _fit(request, read(request.text), tools, _edges(request, self._rp))


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
    sources = _sources(tools, edges)
    groups = grouped(tools, {key for key, found in sources.items() if found})
    enums = {value.lower() for tool in tools for slot in tool.slots for value in slot.enum}
    taken = assign(groups, reading, request.values, enums)
    stated = tuple((slot, taken[number].text) for number in sorted(taken) for slot in groups[number].slots)
    filled = {(slot.tool, slot.parameter) for slot, _ in stated}
    given = {(value.tool, value.parameter) for value in request.values}
    # What is asked for side by side builds on nothing that another tool changes, unless the words say so.
    side_by_side = request.request_class in _SIDE_BY_SIDE
    alone = side_by_side and not (reading.refers_back or reading.dependence)
    flow = _Flow()
    for place, slot in _unfilled(tools, filled):
        flow.fill(place, slot, tools, sources, reading, alone=alone, given=given)
    passed = frozenset(
        (target.id, parameter)
        for place, target in enumerate(tools)
        for source in tools[:place]
        for parameter in edges.get((source.id, target.id), ())
    )
    return Fit(
        tools=tools,
        stated=stated,
        fed=frozenset(flow.fed),
        needed=_needed(flow.choices),
        supplied=frozenset(flow.supplied),
        missing=tuple(flow.missing),
        late=tuple(flow.late),
        apart=apart(tools, edges),
        named=frozenset(slot.tool for number, one in taken.items() if one.sure for slot in groups[number].slots),
        passed=passed,
        strangers=() if side_by_side else strangers(tools, edges, {slot.entity for slot, _ in stated}),
        idle=() if side_by_side else idle(tools, edges, flow.fed),
        once=tuple(_told_once(groups, taken, reading, given | flow.supplied, edges)) if alone else (),
        backward=tuple(_backward(tools, edges, filled | given | flow.supplied | passed, flow.fed)),
    )


def _sources(tools: Sequence[ToolSlots], edges: Edges) -> dict[_Key, tuple[int, ...]]:
    """Input → the places of the tools that could supply it; inputs with a default are left out."""
    return {
        (slot.tool, slot.parameter): tuple(
            at for at, source in enumerate(tools) if at != place and supplies(source, slot, edges)
        )
        for place, tool in enumerate(tools)
        for slot in tool.slots
        if slot.kind not in _BY_DEFAULT
    }


@dataclass(slots=True)
class _Flow:
    """What is passed along the path, input by input; the fields are those of :class:`Fit`.

    :param choices: for each required input that tools before it supply, their places.
    """

    fed: set[tuple[int, int]] = field(default_factory=set)
    choices: list[list[int]] = field(default_factory=list)
    supplied: set[_Key] = field(default_factory=set)
    missing: list[Slot] = field(default_factory=list)
    late: list[tuple[Slot, int]] = field(default_factory=list)

    def fill(
        self,
        place: int,
        slot: Slot,
        tools: Sequence[ToolSlots],
        sources: Mapping[_Key, Sequence[int]],
        reading: Reading,
        *,
        alone: bool,
        given: Collection[_Key],
    ) -> None:
        """Find what fills an input that the request does not state."""
        key = (slot.tool, slot.parameter)
        before = [at for at in (*sources[key], *_lends(tools, place, slot, reading)) if at < place]
        if alone and slot.required:
            before = [at for at in before if tools[at].reads]
        if before:
            self.supplied.add(key)
            given_by = [at for at in sources[key] if at < place]
            self.choices.extend([given_by] if slot.required and given_by else [])
            self.fed.update((at, place) for at in before)
        elif slot.kind == "id" and slot.required and key not in given and not _by_default(slot, reading):
            self.missing.append(slot)
            self.late.extend((slot, at) for at in sources[key] if at > place)


def _told_once(
    groups: Sequence[Group],
    taken: Mapping[int, Said],
    reading: Reading,
    known: set[tuple[str, str]],
    edges: Edges,
) -> Iterator[Slot]:
    """Inputs of tools side by side that want a record each, where the request states one and points back at none."""
    for number, said in taken.items():
        wanting = [slot for slot in groups[number].slots if slot.required and (slot.tool, slot.parameter) not in known]
        if groups[number].is_code or groups[number].person or len(wanting) < 2:
            continue
        if any((one.tool, other.tool) in edges for one in wanting for other in wanting):
            continue
        stated = {value.text for value in reading.of_kind("id") if shape(value.text) == shape(said.text)}
        if len(stated) < 2:
            yield wanting[-1]


def _backward(
    tools: Sequence[ToolSlots], edges: Edges, filled: set[tuple[str, str]], fed: set[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    for first, tool in enumerate(tools):
        told = any((source.id, tool.id) in edges for source in tools[:first])
        feeds = any((tool.id, other.id) in edges for other in tools)
        for later in range(first + 1, len(tools)):
            takes = edges.get((tools[later].id, tool.id), frozenset())
            if not takes or (tool.id, tools[later].id) in edges or (first, later) in fed:
                continue
            if told and all((tool.id, parameter) in filled for parameter in takes):
                continue
            if all((tool.id, slot.parameter) in filled for slot in _must(tool, takes)):
                # To look before something is done is in order, whatever the deed gives back.
                looks = tool.reads and not tools[later].reads
                if looks or (feeds and not tool.reads) or _told_both(tool, tools[later], takes):
                    continue
            yield first, later


def _told_both(first: ToolSlots, later: ToolSlots, takes: Collection[str]) -> bool:
    """Whether the later tool must itself be told what the first one takes."""
    told = {slot.entity for slot in later.slots if slot.required and slot.kind == "id"}
    return all(slot.entity in told for slot in first.slots if slot.parameter in takes)


def _must(tool: ToolSlots, takes: Collection[str]) -> list[Slot]:
    return [slot for slot in tool.slots if slot.required and slot.parameter in takes]


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
