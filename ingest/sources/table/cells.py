"""Parse cells of a table: ``name:type:description; …`` and ``enum [High, Medium, Low]``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ontology.tool import Parameter

__all__ = ["enum_of_type", "parameter_rows"]

_ENUM = re.compile(
    r"^(?P<type>.*?)\s*\benum\w*\s*[:=]?\s*[\[({](?P<values>[^\])}]*)[\])}]\s*$", re.IGNORECASE | re.DOTALL
)
_LITERAL = re.compile(r"^(?:typing\.)?(?:Optional\[)?(?:typing\.)?Literal\[(?P<values>[^\]]*)\]{1,2}$")
_OPEN, _CLOSE = "[({<", "])}>"


def enum_of_type(parameter: Parameter) -> Parameter:
    """Move the values of a type like ``enum [High, Medium, Low]`` or ``Literal['a', 'b']`` to ``enum``."""
    match = _ENUM.match(parameter.type) or _LITERAL.match(parameter.type)
    if match is None:
        return parameter
    values = tuple(value for part in _split_outside(match["values"], ",|") if (value := part.strip(" \t\n\"'")))
    if not values:
        return parameter
    type_ = (match.groupdict().get("type") or "").strip(" ,:") or "string"
    return replace(parameter, type=type_, enum=parameter.enum or values)


def parameter_rows(cell: str) -> list[dict[str, Any]]:
    """Parse parameters ``name:type:description; …``; type and description are optional; ``*`` after the name means required."""
    rows: list[dict[str, Any]] = []
    for part in _split_outside(cell, ";\n"):
        if not part.strip():
            continue
        name, type_, description = (*_split_outside(part, ":", limit=2), "", "")[:3]
        rows.append(
            {
                "name": name.strip().rstrip("*").strip(),
                "type": type_.strip() or "string",
                "description": description.strip(),
                "required": name.strip().endswith("*"),
            }
        )
    return rows


def _split_outside(text: str, separators: str, *, limit: int = -1) -> Iterator[str]:
    """Split at the separators that are outside brackets, at most ``limit`` times; -1 for no limit."""
    depth = start = 0
    for index, char in enumerate(text):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth = max(0, depth - 1)
        elif not depth and limit and char in separators:
            yield text[start:index]
            start = index + 1
            limit -= 1
    yield text[start:]
