"""Requests about the company that the parser reads as if nothing more were said: one of several groups, either-or, and what is left aside.

Found on questions over the mock company that somebody asked who had not seen the rules.
"""

from __future__ import annotations

import re
from itertools import combinations

from planners.kgot.asked import Asked, AskedFilter

__all__ = ["either_or", "leading_aside"]

_ASIDE = re.compile(
    r"\b(?:both|per|other|outside|besides|beyond|apart|alone|together|respective(?:ly)?|exclusively|solely|same|different|at least one)\b",
    re.I,
)
_EACH = re.compile(r"\b(?:each|every|per)\b", re.I)


def leading_aside(text: str, *, measured: bool) -> str:
    """Return a word of a request that changes what is meant and is not read, or empty.

    :param measured: whether a number is asked for, of which "each" wants several.
    """
    found = _ASIDE.search(text) or (_EACH.search(text) if measured else None)
    return found[0] if found else ""


def either_or(asked: Asked) -> str:
    """Return why conditions exclude one another or may be meant of several things, or empty: two values of one field of one thing, or of
    two things that are joined to the same one in the same way.
    """
    told = [each for each in asked.filters if each.operator in ("=", "contains")]
    for one, other in combinations(told, 2):
        if one.field == other.field and one.value != other.value and _stand_alike(one, other, asked):
            return f"{one.value} and {other.value} are two values of one {one.field}, and it is not read whether both are meant or either"
    return ""


def _stand_alike(one: AskedFilter, other: AskedFilter, asked: Asked) -> bool:
    return one.variable == other.variable or bool(_ways(one.variable, asked) & _ways(other.variable, asked))


def _ways(name: str, asked: Asked) -> set[tuple[str, str, bool]]:
    """Return how a variable is joined: the edge, what is at its other end, and whether that is the source."""
    ends = {(each.name, each.source, True) for each in asked.edges if each.target == name}
    return ends | {(each.name, each.target, False) for each in asked.edges if each.source == name}
