"""Parameters as one JSON Schema: dotted paths are folded back into nested objects and lists.

``items[].order_id`` is the field ``order_id`` of the objects in the list ``items``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ontology.json_values import json_type, typed_values
from ontology.tool import Parameter

MAX_DESCRIPTION = 8_000
_MAX_DEPTH = 24
_SEGMENT = re.compile(r"^(.*?)((?:\[\])*)\Z", re.DOTALL)


class _Segment(NamedTuple):
    """One part of a dotted path: ``items[][]`` is the name ``items`` with two list levels."""

    name: str
    list_depth: int


@dataclass(slots=True)
class _Field:
    """One field: its declaration, if it has one, and the fields inside it."""

    parameter: Parameter | None = None
    list_depth: int = 0
    children: dict[str, _Field] = field(default_factory=dict)

    @property
    def required(self) -> bool:
        """As declared; for a field without a declaration, whether a field inside it is required."""
        if self.parameter is not None:
            return self.parameter.required
        return any(child.required for child in self.children.values())


def input_schema(parameters: Iterable[Parameter]) -> dict[str, Any]:
    """The JSON Schema (Draft 2020-12) of an object with these parameters."""
    root = _Field()
    for parameter in parameters:
        _insert(root, parameter)
    return _object_schema(root)


def shortened(text: str, max_chars: int) -> str:
    """The text, cut to a length; an ellipsis marks the cut."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def _insert(root: _Field, parameter: Parameter) -> None:
    node = root
    for name, list_depth in _segments(parameter.name):
        node = node.children.setdefault(name, _Field())
        node.list_depth = max(node.list_depth, list_depth)
    if node.parameter is None:  # of two parameters of one name, the first counts
        node.parameter = parameter


def _segments(path: str) -> list[_Segment]:
    """``items[].order_id`` → ``items`` in a list, ``order_id``. A path with an empty part is one literal name."""
    segments: list[_Segment] = []
    for part in path.split(".", _MAX_DEPTH):
        match = _SEGMENT.match(part)
        if match is None or not match[1].strip():
            return [_Segment(path, 0)]
        segments.append(_Segment(match[1], min(len(match[2]) // 2, _MAX_DEPTH)))
    return segments


def _object_schema(node: _Field) -> dict[str, Any]:
    properties = {name: _field_schema(child) for name, child in node.children.items()}
    required = [name for name, child in node.children.items() if child.required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _field_schema(node: _Field) -> dict[str, Any]:
    parameter = node.parameter
    schema = {"type": "object"} if parameter is None else json_type(parameter.type)
    declared_depth = _list_depth(schema)
    if node.children:
        schema = _in_lists(_object_schema(node), max(node.list_depth, declared_depth))
    else:
        schema = _in_lists(schema, node.list_depth - declared_depth)
        if parameter is not None:
            _restrict(schema, parameter)
    if parameter is not None and parameter.description:
        schema["description"] = shortened(parameter.description, MAX_DESCRIPTION)
    return schema


def _list_depth(schema: Mapping[str, Any]) -> int:
    depth = 0
    while schema.get("type") == "array":
        depth += 1
        schema = schema["items"]
    return depth


def _in_lists(schema: dict[str, Any], depth: int) -> dict[str, Any]:
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def _restrict(schema: dict[str, Any], parameter: Parameter) -> None:
    """Add format and allowed values: those of a list restrict its innermost items."""
    inner = schema
    while inner.get("type") == "array":
        inner = inner["items"]
    kind = inner.get("type")
    if parameter.format and kind != "object":
        inner["format"] = parameter.format
    if not parameter.enum:
        return
    inner["enum"] = typed_values(parameter.enum, kind)
    if kind != "string" and any(isinstance(value, str) for value in inner["enum"]):
        for key in (
            "type",
            "anyOf",
            "additionalProperties",
        ):  # values contradict the declared type: the values are kept
            inner.pop(key, None)
