"""Connections between the tools of a path: outputs that fill inputs, common inputs, common entities."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations

from datagen.validation.slots import Slot
from datagen.validation.synonyms import PERSONS
from datagen.validation.tool_slots import ToolSlots
from ingest.linking import GENERIC_NAMES

__all__ = ["Edges", "disconnected_tools", "supplies", "unrelated_tools", "unused_tools"]

Edges = Mapping[tuple[str, str], frozenset[str]]
"""(source, target) → the inputs of the target that the source fills."""


def supplies(source: ToolSlots, slot: Slot, edges: Edges) -> bool:
    """Whether a tool supplies the value of a slot; a value that the tool itself requires is not supplied."""
    if slot.tool == source.id:
        return False
    edge = slot.parameter in edges.get((source.id, slot.tool), ())
    if any(own.kind == "id" and own.required and own.entity == slot.entity for own in source.slots):
        # The manager of a person is another person.
        another = slot.person and source.entity != slot.entity
        return another and (edge or _last_word(source.entity) in PERSONS)
    if slot.kind == "id" and not slot.findable and source.reads and not source.knowledge:
        return True  # No document says who gives it, so any look-up may.
    return edge or (slot.kind == "id" and _gives(source, slot.entity))


def _gives(source: ToolSlots, entity: str) -> bool:
    """Whether a tool returns an entity, compared by its name or by the head noun of its name."""
    return any(_same_kind(entity, given) for given in source.gives)


def _same_kind(entity: str, given: str) -> bool:
    """Whether one names the other, or a kind of it; two kinds of one thing, such as two sorts of orders, are not the same."""
    if _head(entity) != _head(given):
        return False
    one, other = entity.split(), given.split()
    return set(one) <= set(other) or set(other) <= set(one)


def _head(entity: str) -> str:
    """The noun that says what it is: ``request`` of ``request for quotation``, ``order`` of ``sale order``."""
    return entity.partition(" for ")[0].partition(" of ")[0].rpartition(" ")[2]


def _last_word(name: str) -> str:
    return name.rpartition(" ")[2]


def unrelated_tools(tools: Sequence[ToolSlots], edges: Edges) -> tuple[int, ...]:
    """Positions outside the largest set of tools that are related to each other."""
    sets = [{position} for position in range(len(tools))]
    for one, other in combinations(range(len(tools)), 2):
        if _related(tools[one], tools[other], edges):
            merged = [found for found in sets if one in found or other in found]
            sets = [found for found in sets if found not in merged] + [set().union(*merged)]
    largest = max(sets, key=lambda found: (len(found), max(found)), default=set())
    return tuple(at for at in range(len(tools)) if at not in largest and not tools[at].about_asker)


def disconnected_tools(tools: Sequence[ToolSlots], edges: Edges, stated: Collection[str]) -> tuple[int, ...]:
    """Positions of the tools that share no data with another tool; one line of business is not enough.

    :param stated: entities of which the request states an identifier.
    """
    known = frozenset(stated).union(*(tool.gives for tool in tools))
    return tuple(
        at
        for at, tool in enumerate(tools)
        if len(tools) > 1
        and not tool.about_asker
        and not any(_connected(tool, other, edges, known) for other in tools if other is not tool)
    )


def unused_tools(tools: Sequence[ToolSlots], edges: Edges, fed: Collection[tuple[int, int]]) -> tuple[int, ...]:
    """Positions of the tools, but for the last, of which no other tool takes anything.

    :param fed: (source, target) positions where an output fills an input.
    """

    def used(at: int, by: int) -> bool:
        taken = (tools[at].id, tools[by].id) in edges or (at, by) in fed
        return taken or (by > at and _passes(tools[at], tools[by]))

    positions = range(len(tools))
    return tuple(at for at in positions[:-1] if not any(used(at, by) for by in positions if by != at))


def _related(one: ToolSlots, other: ToolSlots, edges: Edges) -> bool:
    if (one.group and one.group == other.group) or (one.entity and one.entity == other.entity):
        return True
    if _either(one, other, lambda first, second: _feeds(first, second, edges)) or _either(one, other, _takes):
        return True
    if _either(one, other, lambda first, second: first.about_person and second.takes_person):
        return True
    return bool(one.keys & (other.keys | other.gives)) or bool(other.keys & one.gives)


def _connected(one: ToolSlots, other: ToolSlots, edges: Edges, known: Collection[str]) -> bool:
    if (one.id, other.id) in edges or (other.id, one.id) in edges or (one.entity and one.entity == other.entity):
        return True
    if not (one.keys & other.keys).isdisjoint(known):
        return True
    feeds = _either(one, other, lambda first, second: _feeds(first, second, edges))
    return feeds or _either(one, other, _passes) or _either(one, other, _takes)


def _either(one: ToolSlots, other: ToolSlots, holds: Callable[[ToolSlots, ToolSlots], bool]) -> bool:
    """Whether it holds in one of the two directions."""
    return holds(one, other) or holds(other, one)


def _feeds(source: ToolSlots, target: ToolSlots, edges: Edges) -> bool:
    return any(slot.kind == "id" and supplies(source, slot, edges) for slot in target.slots)


def _takes(one: ToolSlots, other: ToolSlots) -> bool:
    """Whether a tool has an input for what another is about or takes."""
    if (one.keys | ({one.entity} - GENERIC_NAMES)) & (other.takes | other.keys):
        return True
    head = _last_word(one.entity)
    return one.resolves and bool(head) and any(head in name.split() for name in other.takes)


def _passes(source: ToolSlots, target: ToolSlots) -> bool:
    """Whether an output of one has the name of an input of the other, or is a person and the other takes people."""
    if source.gives & target.keys or (source.about_person and target.takes_person):
        return True
    return not source.outputs.isdisjoint(target.takes)
