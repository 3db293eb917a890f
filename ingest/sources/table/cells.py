"""What people write into the cells of a table: ``name:type:description; …`` and ``enum [High, Medium, Low]``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ontology.tool import Parameter

__all__ = ["enum_of_type", "parameter_rows", "split_outside"]

_ENUM = re.compile(
    r"^(?P<type>.*?)\s*\benum\w*\s*[:=]?\s*[\[({](?P<values>[^\])}]*)[\])}]\s*$", re.IGNORECASE | re.DOTALL
)
_LITERAL = re.compile(r"^(?:typing\.)?(?:Optional\[)?(?:typing\.)?Literal\[(?P<values>[^\]]*)\]{1,2}$")
_OPEN, _CLOSE = "[({<", "])}>"


def enum_of_type(parameter: Parameter) -> Parameter:
    """Move the values out of a type like ``enum [High, Medium, Low]`` or ``Literal['a', 'b']`` into ``enum``."""
    match = _ENUM.match(parameter.type) or _LITERAL.match(parameter.type)
    if match is None:
        return parameter
    values = tuple(value for part in split_outside(match["values"], ",|") if (value := part.strip(" \t\n\"'")))
    if not values:
        return parameter
    type_ = (match.groupdict().get("type") or "").strip(" ,:") or "string"
    return replace(parameter, type=type_, enum=parameter.enum or values)


def parameter_rows(cell: str) -> list[dict[str, Any]]:
    """Parameters from ``name:type:description; …``; type and description may be missing, a ``*`` after the name marks it required."""
    rows: list[dict[str, Any]] = []
    for part in split_outside(cell, ";\n"):
        if not part.strip():
            continue
        name, type_, description = (*split_outside(part, ":", most=2), "", "")[:3]
        rows.append(
            {
                "name": name.strip().rstrip("*").strip(),
                "type": type_.strip() or "string",
                "description": description.strip(),
                "required": name.strip().endswith("*"),
            }
        )
    return rows


def split_outside(text: str, separators: str, *, most: int = -1) -> Iterator[str]:
    """Split at any of the separators that stand outside brackets, at most ``most`` times."""
    depth = start = 0
    for index, char in enumerate(text):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth = max(0, depth - 1)
        elif not depth and most and char in separators:
            yield text[start:index]
            start = index + 1
            most -= 1
    yield text[start:]
