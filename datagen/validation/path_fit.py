"""The PathFit of a request: what fills each input of its path, which tools feed which, and which feed none."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SyntheticRequest
from datagen.tool_links import ToolLinks
from datagen.validation.connections import Edges, disconnected_tools, unrelated_tools, unused_tools
from datagen.validation.data_flow import DataFlow, ForwardReference, find_sources
from datagen.validation.parsed_request import ParsedRequest, parse_request
from datagen.validation.slots import Slot, SlotKey
from datagen.validation.tool_slots import CatalogueSlots, ToolSlots
from datagen.validation.value_assignment import (
    AssignedValue,
    SlotGroup,
    assign_values,
    group_slots,
    identifier_shape,
)

__all__ = ["INDEPENDENT_CLASSES", "PathFit", "PathFitter", "StatedSlot"]

INDEPENDENT_CLASSES = frozenset(("multi-intent", "ir-multi-intent"))
"""Classes whose tools each get what they need from the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSlot:
    """An input with the identifier that the request states for it."""

    slot: Slot
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PathFit:
    """How a path serves a request. Tools are named by their positions in the path.

    :param fed: (source, target) where an output of one fills an input of the other that nothing else fills.
    :param links: (source, later target, input) of the R-P edges between its tools.
    :param needed: tools without which another lacks a required input; where several would do, one of them.
    :param supplied: inputs that an earlier tool fills.
    :param passed: plain inputs that an output of an earlier tool fills.
    :param missing: required identifiers that neither the request nor an earlier tool gives.
    :param forward_references: of these, the ones that a later tool would give.
    :param reversed_pairs: (first, later) where the later tool gives what the first one takes, and never the other way
        round, while nothing else gives it.
    :param certain_tools: ids of the tools of which the request states an identifier that can be nothing else.
    :param unrelated: tools that are related to none of the others.
    :param disconnected: tools that share no data with another.
    :param unused: tools, but for the last, of which no other takes anything.
    :param underspecified: inputs of independent tools that want a record each, while the request states only one.
    """

    tools: tuple[ToolSlots, ...]
    stated: tuple[StatedSlot, ...]
    fed: frozenset[tuple[int, int]]
    links: tuple[tuple[int, int, str], ...]
    needed: frozenset[int]
    supplied: frozenset[SlotKey]
    passed: frozenset[SlotKey]
    missing: tuple[Slot, ...]
    forward_references: tuple[ForwardReference, ...]
    reversed_pairs: tuple[tuple[int, int], ...]
    certain_tools: frozenset[str]
    unrelated: tuple[int, ...]
    disconnected: tuple[int, ...]
    unused: tuple[int, ...]
    underspecified: tuple[Slot, ...]

    @property
    def shares_value(self) -> bool:
        """Whether one value of the request fills inputs of two tools."""
        tools: dict[str, set[str]] = {}
        for stated in self.stated:
            tools.setdefault(stated.value, set()).add(stated.slot.tool)
        return any(len(users) > 1 for users in tools.values())

    @property
    def not_needed(self) -> tuple[int, ...]:
        """The tools that no other must have, where an input takes one source if it can have several."""
        return tuple(position for position in range(len(self.tools)) if position not in self.needed)

    @property
    def ends(self) -> tuple[int, ...]:
        """The tools that feed no other."""
        feeding = {source for source, _ in self.fed}
        return tuple(position for position in range(len(self.tools)) if position not in feeding)


class PathFitter:
    """Fits requests to the paths of one catalogue; the last results are kept for the next validator.

    :param rp: the R-P edges of the catalogue.
    """

    def __init__(self, catalogue: ProfiledCatalogue, rp: ToolLinks) -> None:
        self.slots = CatalogueSlots(catalogue)
        self._rp = rp
        self._fit = lru_cache(maxsize=256)(self._find)

    def fit(self, request: SyntheticRequest) -> PathFit:
        """How the path of a request serves it.

        :raises NotFoundError: when the catalogue lacks a tool of the path.
        """
        return self._fit(replace(request, verdicts=()) if request.verdicts else request)

    def _find(self, request: SyntheticRequest) -> PathFit:
        tools = tuple(map(self.slots.of, request.path.tools))
        return _path_fit(request, tools, _edges(request, self._rp))


def _edges(request: SyntheticRequest, rp: ToolLinks) -> Edges:
    """The R-P edges between the tools of a path, those of the catalogue and those of the path itself."""
    tools = request.path.tools
    known = [edge for source in tools for target in tools if source != target for edge in rp.between(source, target)]
    found: dict[tuple[str, str], set[str]] = {}
    for edge in (*known, *request.path.edges):
        if edge.kind == "R-P":
            found.setdefault((edge.source, edge.target), set()).add(edge.parameter)
    return {ends: frozenset(parameters) for ends, parameters in found.items()}


def _path_fit(request: SyntheticRequest, tools: tuple[ToolSlots, ...], edges: Edges) -> PathFit:
    parsed = parse_request(request.text)
    sources = find_sources(tools, edges)
    groups = group_slots(tools, {key for key, found in sources.items() if found})
    enums = {value.lower() for tool in tools for slot in tool.slots for value in slot.enum}
    assigned = assign_values(groups, parsed, request.values, enums)
    stated = tuple(
        StatedSlot(slot=slot, value=assigned[number].text)
        for number in sorted(assigned)
        for slot in groups[number].slots
    )
    filled = {one.slot.key for one in stated}
    given = {(value.tool, value.parameter) for value in request.values}
    independent = request.request_class in INDEPENDENT_CLASSES
    # Independent wants build on nothing that another tool changes, unless the words say so.
    alone = independent and not (parsed.refers_back or parsed.dependence_cues)
    flow = DataFlow(tools=tools, sources=sources, parsed=parsed, given=given, alone=alone)
    flow.fill_all(filled)
    links = tuple(_links(tools, edges))
    passed = frozenset((tools[target].id, parameter) for _, target, parameter in links)
    known = given | flow.supplied
    return PathFit(
        tools=tools,
        stated=stated,
        fed=frozenset(flow.fed),
        links=links,
        needed=flow.needed,
        supplied=frozenset(flow.supplied),
        passed=passed,
        missing=tuple(flow.missing),
        forward_references=tuple(flow.forward_references),
        reversed_pairs=tuple(_reversed_pairs(tools, edges, filled | known | passed, flow.fed)),
        certain_tools=frozenset(
            slot.tool for number, one in assigned.items() if one.certain for slot in groups[number].slots
        ),
        unrelated=unrelated_tools(tools, edges),
        disconnected=() if independent else disconnected_tools(tools, edges, {one.slot.entity for one in stated}),
        unused=() if independent else unused_tools(tools, edges, flow.fed),
        underspecified=tuple(_underspecified(groups, assigned, parsed, known, edges)) if alone else (),
    )


def _links(tools: Sequence[ToolSlots], edges: Edges) -> Iterator[tuple[int, int, str]]:
    for target, tool in enumerate(tools):
        for source, other in enumerate(tools[:target]):
            for parameter in sorted(edges.get((other.id, tool.id), ())):
                yield source, target, parameter


def _underspecified(
    groups: Sequence[SlotGroup],
    assigned: Mapping[int, AssignedValue],
    parsed: ParsedRequest,
    known: Collection[SlotKey],
    edges: Edges,
) -> Iterator[Slot]:
    """Return inputs of independent tools that need one record each, if the request states only one, without an anaphor."""
    for number, value in assigned.items():
        group = groups[number]
        wanting = [slot for slot in group.slots if slot.required and slot.key not in known]
        if group.is_code or group.person or len(wanting) < 2:
            continue
        if any((one.tool, other.tool) in edges for one in wanting for other in wanting):
            continue
        shape = identifier_shape(value.text)
        if len({one.text for one in parsed.of_kind("id") if identifier_shape(one.text) == shape}) < 2:
            yield wanting[-1]


def _reversed_pairs(
    tools: Sequence[ToolSlots], edges: Edges, filled: Collection[SlotKey], fed: Collection[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    for first, tool in enumerate(tools):
        for later in range(first + 1, len(tools)):
            takes = edges.get((tools[later].id, tool.id), frozenset())
            if not takes or (tool.id, tools[later].id) in edges or (first, later) in fed:
                continue
            if not _needs_no_other(first, later, tools, edges, filled):
                yield first, later


def _needs_no_other(
    first: int, later: int, tools: Sequence[ToolSlots], edges: Edges, filled: Collection[SlotKey]
) -> bool:
    """Whether the first tool has its inputs although a later tool also supplies them."""
    tool, other = tools[first], tools[later]
    takes = edges[other.id, tool.id]
    has_source = any((source.id, tool.id) in edges for source in tools[:first])
    if has_source and all((tool.id, parameter) in filled for parameter in takes):
        return True
    if not all(slot.key in filled for slot in tool.slots if slot.required and slot.parameter in takes):
        return False
    # A read before an action is valid, whatever the action returns.
    looks_first = tool.reads and not other.reads
    feeds_another = any((tool.id, target.id) in edges for target in tools)
    return looks_first or (feeds_another and not tool.reads) or _take_the_same(tool, other, takes)


def _take_the_same(first: ToolSlots, later: ToolSlots, takes: Collection[str]) -> bool:
    """Whether the later tool requires the same value as the first one."""
    required = {slot.entity for slot in later.slots if slot.required and slot.kind == "id"}
    return all(slot.entity in required for slot in first.slots if slot.parameter in takes)
