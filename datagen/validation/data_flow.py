"""The data flow of a path: which earlier tools fill the inputs that the request does not state."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from datagen.validation.connections import Edges, supplies
from datagen.validation.parsed_request import ParsedRequest
from datagen.validation.slots import Slot, SlotKey
from datagen.validation.tool_slots import ToolSlots

__all__ = ["DataFlow", "ForwardReference", "find_sources"]

_BY_DEFAULT = frozenset(("paging", "flag", "date", "enum", "count"))
"""Kinds of inputs that have a default, or that no other tool supplies."""
_OWN_TEXTS = frozenset(("name", "title"))
"""Last words of texts that name what a tool makes or changes: nobody reads them off another thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardReference:
    """A required input that only a later tool supplies.

    :param position: of the later tool.
    """

    slot: Slot
    position: int


def find_sources(tools: Sequence[ToolSlots], edges: Edges) -> dict[SlotKey, tuple[int, ...]]:
    """Input → the positions of the tools that could supply it; inputs with a default are left out."""
    return {
        slot.key: tuple(at for at, source in enumerate(tools) if at != position and supplies(source, slot, edges))
        for position, tool in enumerate(tools)
        for slot in tool.slots
        if slot.kind not in _BY_DEFAULT
    }


@dataclass(slots=True, kw_only=True)
class DataFlow:
    """What is passed along the path, input by input; the results are those of the path's fit.

    :param given: inputs for which a value is known.
    :param alone: whether no tool builds on what another changes.
    :param choices: for each required input that tools before it supply, their positions.
    """

    tools: Sequence[ToolSlots]
    sources: Mapping[SlotKey, Sequence[int]]
    parsed: ParsedRequest
    given: Collection[SlotKey]
    alone: bool
    fed: set[tuple[int, int]] = field(default_factory=set)
    choices: list[list[int]] = field(default_factory=list)
    supplied: set[SlotKey] = field(default_factory=set)
    missing: list[Slot] = field(default_factory=list)
    forward_references: list[ForwardReference] = field(default_factory=list)

    @property
    def needed(self) -> frozenset[int]:
        """One source for each required input: one that is needed anyway, else the nearest."""
        needed: set[int] = set()
        for sources in sorted(self.choices, key=len):
            if not needed & set(sources):
                needed.add(max(sources))
        return frozenset(needed)

    def fill_all(self, stated: Collection[SlotKey]) -> None:
        """Find what fills each input that the request does not state."""
        for position, tool in enumerate(self.tools):
            for slot in tool.slots:
                if slot.kind not in _BY_DEFAULT and slot.key not in stated:
                    self._fill(position, slot)

    def _fill(self, position: int, slot: Slot) -> None:
        sources = self.sources[slot.key]
        before = [at for at in (*sources, *self._lookups(position, slot)) if at < position]
        if self.alone and slot.required:
            before = [at for at in before if self.tools[at].reads]
        if before:
            self.supplied.add(slot.key)
            given_by = [at for at in sources if at < position]
            self.choices.extend([given_by] if slot.required and given_by else [])
            self.fed.update((at, position) for at in before)
        elif slot.kind == "id" and slot.required and slot.key not in self.given and not self._means_asker(slot):
            self.missing.append(slot)
            self.forward_references.extend(ForwardReference(slot=slot, position=at) for at in sources if at > position)

    def _means_asker(self, slot: Slot) -> bool:
        """Whether the user is meant: the request has the first person, or names no other person."""
        parsed = self.parsed
        if not slot.person or not parsed.names_person:
            return slot.person
        return parsed.first_person and (parsed.about_asker or not parsed.about_other)

    def _lookups(self, position: int, slot: Slot) -> Iterator[int]:
        """Return earlier look-up tools for values that users do not type: texts, lists, addresses, or search results."""
        target, earlier = self.tools[position], range(position)
        typed = slot.kind in ("list", "email") and self.parsed.of_kind("email")
        if slot.required and slot.kind in ("text", "code", "list", "email") and not typed:
            yield from (at for at in earlier if _informs(self.tools[at], target, slot))
        if slot.kind in ("text", "code"):
            for at in earlier:
                source = self.tools[at]
                if source.resolves and not source.knowledge and source.entity.rpartition(" ")[2] in slot.words:
                    yield at


def _informs(source: ToolSlots, target: ToolSlots, slot: Slot) -> bool:
    """Whether somebody can take a text, a code or a list from a look-up in the same line of business."""
    if not source.reads or source.knowledge or not source.group or source.group != target.group:
        return False
    if slot.kind in ("list", "email"):
        return True
    if slot.kind == "code":
        return slot.entity in source.gives or (source.undocumented and not source.resolves)
    return not target.reads and not source.resolves and slot.last_word not in _OWN_TEXTS
