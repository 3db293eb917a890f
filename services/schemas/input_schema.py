"""Parameters as one JSON Schema: dotted paths are folded back into nested objects and lists.

``items[].order_id`` is the field ``order_id`` of the objects in the list ``items``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ontology.json_values import json_type, typed_values
from ontology.tool import Parameter

MAX_DESCRIPTION = 8_000
_MAX_DEPTH = 24
_SEGMENT = re.compile(r"^(.*?)((?:\[\])*)\Z", re.DOTALL)


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
        node, parts = root, parameter.name.split(".", _MAX_DEPTH)
        matches = [match for part in parts if (match := _SEGMENT.match(part)) and match[1].strip()]
        depths = [(match[1], min(len(match[2]) // 2, _MAX_DEPTH)) for match in matches]
        # A path with an empty part is one literal name.
        for name, list_depth in depths if len(depths) == len(parts) else [(parameter.name, 0)]:
            node = node.children.setdefault(name, _Field())
            node.list_depth = max(node.list_depth, list_depth)
        if node.parameter is None:  # of two parameters of one name, the first counts
            node.parameter = parameter
    return _object_schema(root)


def shortened(text: str, max_chars: int) -> str:
    """The text, cut to a length; an ellipsis marks the cut."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def _object_schema(node: _Field) -> dict[str, Any]:
    properties, required = {}, [name for name, child in node.children.items() if child.required]
    for name, child in node.children.items():
        parameter = child.parameter
        schema: dict[str, Any] = {"type": "object"} if parameter is None else json_type(parameter.type)
        inner, declared_depth = schema, 0
        while inner.get("type") == "array":
            inner, declared_depth = inner["items"], declared_depth + 1
        if child.children:
            schema, levels = _object_schema(child), max(child.list_depth, declared_depth)
        else:
            levels = child.list_depth - declared_depth
            if parameter is not None:  # format and allowed values of a list restrict its innermost items
                _restrict(inner, parameter)
        for _ in range(levels):
            schema = {"type": "array", "items": schema}
        if parameter is not None and parameter.description:
            schema["description"] = shortened(parameter.description, MAX_DESCRIPTION)
        properties[name] = schema
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _restrict(schema: dict[str, Any], parameter: Parameter) -> None:
    kind = schema.get("type")
    if parameter.format and kind != "object":
        schema["format"] = parameter.format
    if not parameter.enum:
        return
    schema["enum"] = typed_values(parameter.enum, kind)
    if kind != "string" and any(isinstance(value, str) for value in schema["enum"]):
        for key in ("type", "anyOf", "additionalProperties"):  # values contradict the declared type, and are kept
            schema.pop(key, None)
