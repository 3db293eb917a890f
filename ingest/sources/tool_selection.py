"""Which tools of a named source are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Final

from ingest.sources.source import RejectedRecord
from ingest.sources.source_entry import SourceEntry
from ontology.tool import Tool

__all__ = ["EXCLUDES_NOTHING", "select_tools", "unmatched_patterns", "unmatched_records"]

EXCLUDES_NOTHING: Final = "excludes-nothing"
"""The reason of a record that is a warning: also under ``strict`` no error."""


def select_tools(entry: SourceEntry, tools: Sequence[Tool]) -> list[Tool]:
    """Return the tools that the entry keeps, with its metadata.

    Dependencies on tools that are left out are removed.
    """
    kept = [tool for tool in tools if _is_kept(entry, tool)]
    remaining = {name for tool in kept for name in (tool.id, tool.name)}
    left_out = {name for tool in tools for name in (tool.id, tool.name)} - remaining
    return [
        replace(
            tool,
            metadata={**tool.metadata, **entry.metadata},
            depends_on=tuple(one for one in tool.depends_on if one.tool not in left_out),
        )
        for tool in kept
    ]


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


def unmatched_patterns(entry: SourceEntry, tools: Sequence[Tool]) -> frozenset[tuple[str, str]]:
    """Return the (key, pattern) of an entry that match none of the tools of a document, before any is left out."""
    names = [name for tool in tools for name in (tool.id, tool.name)]
    tags = [tag for tool in tools for tag in _tags(tool.metadata)]
    texts = {"include": names, "exclude": names, "include_tags": tags, "exclude_tags": tags}
    return frozenset(
        (key, pattern) for key in texts for pattern in getattr(entry, key) if not _matches(texts[key], [pattern])
    )


def unmatched_records(source: str, patterns: Iterable[tuple[str, str]]) -> list[RejectedRecord]:
    """Return a record for each pattern that matches no tool of a source; for an exclusion, one that is no fault.

    :param source: the name of the source.
    """
    return [
        RejectedRecord(
            f"source {source}",
            "no-match" if key.startswith("include") else EXCLUDES_NOTHING,
            f"The pattern {pattern!r} of {key} matches no tool; case counts.",
        )
        for key, pattern in sorted(patterns)
    ]
