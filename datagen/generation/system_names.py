"""The name by which people call the system of a tool: *Jira* for "The Jira Cloud platform REST API"."""

from __future__ import annotations

import re

from datagen.generation.common_words import is_plain_word
from ontology.names import words
from ontology.tool import Tool

__all__ = ["system_name"]

_TITLES = ("api", "service")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")


def system_name(tool: Tool) -> str:
    """The name of a system as its document's title writes it; empty where nothing says it.

    It is the part of the title that the namespace repeats, word for word or by initials. Without a title it is the
    namespace, unless that is a plain word; so it is where the title has a part of it: "Catalog API" of ``vtex-catalog``.
    """
    named = words(tool.namespace)
    namespace = "".join(named)
    if not namespace:
        return ""
    title = next((value for key in _TITLES if isinstance(value := tool.metadata.get(key), str) and value), "")
    parts = _WORD.findall(title)
    for start in range(len(parts)):
        for end in range(start + 1, len(parts) + 1):
            if "".join(parts[start:end]).lower() == namespace:
                return " ".join(parts[start:end])
    initials = "".join(part[0] for part in parts if part[0].isupper()).lower()
    if len(namespace) > 1 and initials.endswith(namespace):
        return namespace.upper()
    if title and any(part.lower() in named for part in parts) and not all(map(is_plain_word, named)):
        return " ".join(part.capitalize() for part in named)
    return "" if title or is_plain_word(namespace) else namespace.capitalize()
