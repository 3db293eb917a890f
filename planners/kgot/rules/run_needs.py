"""What a run by rules still needs, and which tools it has used for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planners.finding.answer_rows import path_steps
from planners.finding.typed_binding import Binding, EntityName, Wanted
from planners.kgot.asked import AskedLookup, AskedVariable

__all__ = ["Need", "RulesMemory", "ToolUse", "entity_name", "wanted_by_edge", "wanted_by_lookup"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """The tool that was chosen for a purpose, and how it is called."""

    tool_id: str
    binding: Binding


@dataclass(slots=True)
class RulesMemory:
    """What the steps of one run share: the tools by purpose, and why there is none.

    The graph says what was called; it does not say what for.
    """

    uses: dict[str, ToolUse] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def expected(self, tool_id: str) -> str:
        """Return the field that identifies what a tool gives, where it was chosen for that; else empty."""
        gives = [path_steps(use.binding.gives)[-1] for use in self.uses.values() if use.tool_id == tool_id]
        return gives[0] if gives else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What is missing.

    :param request: in plain words, for the tool service.
    :param purpose: of which the same tool serves every time; empty where the tool is known by its kind.
    :param wanted: what the tool must do.
    :param filters: field → value, of a lookup.
    :param values: identifiers of which each is a call.
    :param tool: name of the integrated tool that unpacks or reads the files.
    :param files: that are to be unpacked or read.
    :param pages: of each of them, where they are read.
    """

    request: str
    purpose: str = ""
    wanted: Wanted | None = None
    filters: Mapping[str, str] = field(default_factory=dict)
    values: tuple[str, ...] = ()
    tool: str = ""
    files: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()


def entity_name(variable: AskedVariable) -> EntityName:
    """Return how documents may write the type of a variable."""
    return EntityName(names=variable.nouns or (variable.label,), identifier=variable.identifier)


def wanted_by_lookup(variable: AskedVariable, lookup: AskedLookup) -> Wanted:
    """What a tool must do to find things by their fields."""
    identifier = {"id": lookup.takes} if lookup.takes else {}
    return Wanted(
        target=entity_name(variable), gives=lookup.gives, fields={**identifier, **lookup.fields}, every=lookup.every
    )


def wanted_by_edge(known: AskedVariable, other: AskedVariable, lookup: AskedLookup) -> Wanted:
    """What a tool must do to find one end of an edge of the other."""
    return Wanted(
        source=entity_name(known),
        target=entity_name(other),
        takes=lookup.takes,
        gives=lookup.gives,
        every=lookup.every,
    )
