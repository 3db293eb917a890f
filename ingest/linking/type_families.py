"""Type families: groups of type names for one kind of value, and the compatibility of two types."""

from __future__ import annotations

import re
from functools import lru_cache

from ingest.word_lists import word_groups

__all__ = ["type_family", "type_fit"]

_FAMILY_OF = {name: family for family, names in word_groups("linking", "type_families").items() for name in names}


@lru_cache(maxsize=20_000)
def type_family(type_: str) -> str:
    """Return ``string``, ``integer``, ``number``, ``boolean``, ``array``, ``object``, ``time``, or empty for an unknown type."""
    text = type_.strip().lower()
    if not text:
        return "string"
    if text in _FAMILY_OF:
        return _FAMILY_OF[text]
    if text.endswith("[]"):
        return "array"
    head = re.split(r"[<\[(,| ]", text, maxsplit=1)[0].rsplit(".", 1)[-1]
    return _FAMILY_OF.get(head, "")


def type_fit(given: str, needed: str, *, identifier: bool) -> float:
    """Return the compatibility of a value's type with an input's type, in [0, 1]: 1 for the same family, 0 for incompatible."""
    one, other = type_family(given), type_family(needed)
    if not given or one == other:
        return 1.0 if one or not given or given.lower() == needed.lower() else 0.6
    pair = {one, other}
    if "boolean" in pair:
        return 0.0
    if pair <= {"string", "integer", "number"}:
        return 1.0 if identifier or pair == {"integer", "number"} else 0.7
    if "array" in pair or pair == {"string", "time"}:
        return 0.9
    return 0.5 if "object" in pair or "" in pair else 0.4
