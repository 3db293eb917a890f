"""Whole numbers among parameters, as Ladybug plans them well.

Ladybug 0.22 skips parts of a table whose range a condition rules out, but only where the condition compares with a number that stands
in the statement: with a parameter it reads the whole table, three times as long on 42,000 nodes. A whole number that is not negative is
digits alone, so it is put in its place just before the engine gets the statement. All other values stay bound.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

__all__ = ["with_whole_numbers"]

V = TypeVar("V")

_INT64 = range(2**63)
_PARAMETER = re.compile(
    r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` | //[^\n]* | /\*.*?\*/ | \$(?P<name>\w+)""",
    re.DOTALL | re.VERBOSE,
)
"""A parameter; or what may have a dollar inside and is none: texts, quoted names, comments."""


def with_whole_numbers(text: str, parameters: Mapping[str, V]) -> tuple[str, dict[str, V]]:
    """Return a statement with its whole numbers in it, and the other parameters."""
    numbers = {name: str(value) for name, value in parameters.items() if type(value) is int and value in _INT64}
    if not numbers:
        return text, dict(parameters)
    written = _PARAMETER.sub(lambda found: numbers.get(found["name"] or "", found[0]), text)
    return written, {name: value for name, value in parameters.items() if name not in numbers}
