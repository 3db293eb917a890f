"""Which tools of a named source are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from ingest.sources.source import RejectedRecord
from ingest.sources.source_entry import SourceEntry
from ontology.tool import Tool

__all__ = ["select_tools"]


def select_tools(entry: SourceEntry, tools: Sequence[Tool]) -> tuple[list[Tool], list[RejectedRecord]]:
    """Return the tools that the entry keeps, with its metadata, and a record for each pattern that matches no tool.

    Dependencies on tools that are left out are removed.
    """
    kept = [tool for tool in tools if _is_kept(entry, tool)]
    remaining = {name for tool in kept for name in (tool.id, tool.name)}
    left_out = {name for tool in tools for name in (tool.id, tool.name)} - remaining
    selected = [
        replace(
            tool,
            metadata={**tool.metadata, **entry.metadata},
            depends_on=tuple(one for one in tool.depends_on if one.tool not in left_out),
        )
        for tool in kept
    ]
    return selected, list(_unused(entry, tools))


def _is_kept(entry: SourceEntry, tool: Tool) -> bool:
    names, tags = (tool.id, tool.name), _tags(tool.metadata)
    return (
        (not entry.include or _matches(names, entry.include))
        and (not entry.include_tags or _matches(tags, entry.include_tags))
        and not _matches(names, entry.exclude)
        and not _matches(tags, entry.exclude_tags)
    )


def _matches(texts: Iterable[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(text, pattern) for text in texts for pattern in patterns)


def _tags(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    tags = metadata.get("tags")
    return tuple(map(str, tags)) if isinstance(tags, (list, tuple)) else ()


def _unused(entry: SourceEntry, tools: Sequence[Tool]) -> Iterable[RejectedRecord]:
    names = [name for tool in tools for name in (tool.id, tool.name)]
    tags = [tag for tool in tools for tag in _tags(tool.metadata)]
    for key, patterns, texts in (("include", entry.include, names), ("include_tags", entry.include_tags, tags)):
        for pattern in patterns:
            if tools and not _matches(texts, [pattern]):
                detail = f"The pattern {pattern!r} of {key} matches no tool."
                yield RejectedRecord(f"source {entry.name}", "no-match", detail)
