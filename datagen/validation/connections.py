"""Ties: what joins the tools of a path: outputs that fill inputs, things that both are told, things that both are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from datagen.validation.slots import Slot
from datagen.validation.synonyms import PERSONS
from datagen.validation.tool_slots import ToolSlots
from ingest.linking import GENERIC_NAMES

__all__ = ["Edges", "apart", "idle", "strangers", "supplies"]

Edges = Mapping[tuple[str, str], frozenset[str]]
"""(source, target) → the inputs of the target that the source fills."""


def supplies(source: ToolSlots, slot: Slot, edges: Edges) -> bool:
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


def apart(tools: Sequence[ToolSlots], edges: Edges) -> tuple[int, ...]:
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
    return any(slot.kind == "id" and supplies(source, slot, edges) for slot in target.slots)


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
    if (one.keys | ({one.entity} - GENERIC_NAMES)) & (other.takes | other.keys):
        return True
    head = one.entity.split()[-1:]
    return one.resolves and bool(head) and any(head[0] in name.split() for name in other.takes)


def strangers(tools: Sequence[ToolSlots], edges: Edges, told: set[str]) -> tuple[int, ...]:
    """Positions of the tools that no datum joins to another; that they are of one trade is not enough.

    :param told: entities of which the request states an identifier.
    """
    known = told.union(*(tool.gives for tool in tools)) if tools else told
    return tuple(
        place
        for place, tool in enumerate(tools)
        if len(tools) > 1
        and not tool.own
        and not any(_joined(tool, other, edges, known) for other in tools if other is not tool)
    )


def _joined(one: ToolSlots, other: ToolSlots, edges: Edges, known: set[str]) -> bool:
    if (one.id, other.id) in edges or (other.id, one.id) in edges:
        return True
    if _feeds(one, other, edges) or _feeds(other, one, edges):
        return True
    if one.entity and one.entity == other.entity:
        return True
    if one.keys & other.keys & known or _passes(one, other) or _passes(other, one):
        return True
    return _takes(one, other) or _takes(other, one)


def _passes(source: ToolSlots, target: ToolSlots) -> bool:
    """Whether something that one gives has the name of what the other takes, or is a person for one who takes people."""
    if source.gives & target.keys or (source.person and target.takes_person):
        return True
    return not source.outputs.isdisjoint(target.takes)


def idle(tools: Sequence[ToolSlots], edges: Edges, fed: set[tuple[int, int]]) -> tuple[int, ...]:
    """Positions of the tools, but for the last, of which no other tool takes anything."""
    return tuple(
        place
        for place, tool in enumerate(tools[:-1])
        if not any(
            (tool.id, other.id) in edges or (place, at) in fed or (at > place and _passes(tool, other))
            for at, other in enumerate(tools)
            if at != place
        )
    )
