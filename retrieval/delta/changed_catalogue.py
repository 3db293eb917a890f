"""The tools of a catalogue after changes."""

from __future__ import annotations

from collections.abc import Iterable

from ontology.tool import Tool
from retrieval.delta.near_tools import as_read
from retrieval.snapshot.change_records import Change

__all__ = ["changed_catalogue"]


def changed_catalogue(base: Iterable[Tool], changes: Iterable[Change]) -> list[Tool]:
    """Return the tools of a snapshot after changes, as they were read, by id."""
    tools = {tool.id: as_read(tool) for tool in base}
    for change in changes:
        tools.update((tool.id, tool) for tool in change.upserted)
        for id_ in change.deleted:
            tools.pop(id_, None)
    return [tools[id_] for id_ in sorted(tools)]
