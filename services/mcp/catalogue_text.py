"""What the search tool says of the catalogue behind it: names and counts, nothing that a document says in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from egotools import CatalogInfo, NamespaceSummary

__all__ = ["MAX_CHARS", "search_description"]

MAX_CHARS = 1_500
_HEAD = (
    "Find the tools that a task needs before any other call. Describe the whole task in plain words: one search gives all "
    "tools that it needs, with schemas. "
)
_NOT_IN_A_NAME = re.compile(r"[^\w .:/-]+")
_MAX_NAME = 40
_MAX_WORDS = 4  # a longer name may be a sentence, and a sentence an instruction


def search_description(info: CatalogInfo) -> str:
    """Return the description of the search tool, at most 1,500 characters: the systems with most tools first."""
    text = f"{_HEAD}Searched are {info.tool_count:,} tools"
    systems = list(_systems(info.namespaces))
    if not systems:
        return f"{text}."
    text += " of these systems: "
    left = len(info.namespaces)
    for number, system in enumerate(systems):
        more = f"; and {left:,} more"
        if len(text) + len(system) + len(more) + 3 > MAX_CHARS:
            return f"{text}{more.removeprefix('; ') if not number else more}."
        text += f"; {system}" if number else system
        left -= 1
    return f"{text}; and {left:,} more." if left else f"{text}."


def _systems(namespaces: tuple[NamespaceSummary, ...]) -> Iterator[str]:
    for each in namespaces:
        name = _name(each.name)
        objects = [found for found in map(_name, each.objects) if found]
        if name:
            yield f"{name} ({each.tool_count:,}{': ' + ', '.join(objects) if objects else ''})"


def _name(text: str) -> str:
    """A name of a document as a few plain words; empty for what is none."""
    name = " ".join(_NOT_IN_A_NAME.sub(" ", text).split())
    return name if len(name) <= _MAX_NAME and len(name.split()) <= _MAX_WORDS else ""
