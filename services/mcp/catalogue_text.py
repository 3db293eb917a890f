"""What the search tool says of the catalogue behind it: counts, and names as slugs, so that nothing of a document stands there as a
sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from egotools import CatalogInfo, NamespaceSummary

__all__ = ["MAX_CHARS", "search_description", "slug"]

MAX_CHARS = 1_500
_HEAD = (
    "Find the tools that a task needs before any other call. Describe the whole task in plain words: one search gives all "
    "tools that it needs, with schemas. "
)
_WORD = re.compile(r"[^\W_]+")
_SLUG = re.compile(r"[\w./-]+")
_MAX_NAME = 32  # characters of a slug
_MAX_WORD = 20  # words that are written as one are a sentence too
_MAX_WORDS = 3  # a longer name may be a sentence, and a sentence an instruction


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
        name = slug(each.name)
        objects = [found for found in map(slug, each.objects) if found]
        if name:
            yield f"{name} ({each.tool_count:,}{': ' + ', '.join(objects) if objects else ''})"


def slug(text: str) -> str:
    """A name of a document as at most three words without spaces between them, as it is where it has none, because it is the value of
    a filter; empty for what is longer.
    """
    words = _WORD.findall(text)
    name = text if _SLUG.fullmatch(text) else "-".join(words).casefold()
    long = len(words) > _MAX_WORDS or len(name) > _MAX_NAME or any(len(word) > _MAX_WORD for word in words)
    return "" if long or not words else name
