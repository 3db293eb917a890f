"""A Tool as the call schema that agents' runtimes take: OpenAI function, Anthropic tool, MCP tool."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ontology.errors import InvalidArgumentError
from ontology.tool import Parameter, Tool
from services.schemas.json_types import json_type, typed_values

__all__ = ["SCHEMA_FORMATS", "call_name", "input_schema", "tool_schema", "tool_schema_json"]

_MAX_NAME = 64
_MAX_OPENAI_DESCRIPTION = 1_024
_MAX_DESCRIPTION = 8_000
_MAX_DEPTH = 24
_LEGAL_NAME = re.compile(r"^[a-zA-Z0-9_-]+\Z")
_ILLEGAL_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_ILLEGAL_IN_KEY = re.compile(r"[^a-zA-Z0-9_.-]+")
_SEGMENT = re.compile(r"^(.*?)((?:\[\])*)\Z", re.DOTALL)


def tool_schema(tool: Tool, schema_format: str) -> dict[str, Any]:
    """The call schema of a tool.

    :param schema_format: ``openai``, ``anthropic`` or ``mcp``.
    :raises InvalidArgumentError: for any other.
    """
    make = _FORMATS.get(schema_format)
    if make is None:
        raise InvalidArgumentError(
            f"there is no schema format {schema_format!r}",
            subject="schema_format",
            remedy=f"Use one of {', '.join(SCHEMA_FORMATS)}",
        )
    return make(tool)


def tool_schema_json(tool: Tool, schema_format: str) -> str:
    """The call schema as one line of JSON; empty for ``none``."""
    if schema_format == "none":
        return ""
    line = json.dumps(tool_schema(tool, schema_format), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return line.encode("utf-8", "replace").decode("utf-8")


def call_name(tool: Tool) -> str:
    """The name to call the tool by: 1 to 64 of ``a-z A-Z 0-9 _ -``, and another for every other id.

    It depends on the tool alone, so that a tool is called the same in every answer: the id itself where it is legal,
    ``namespace__name`` for ``namespace/name``, else the name made legal with eight digits of the id's hash.
    """
    parts = tool.id.split("/")
    readable = tool.id == tool.name or tool.id.endswith("/" + tool.name)
    joined = "__".join(parts)
    # A part that holds the joint itself could make the same name as another id: "a/b" and "a__b".
    clean = all(_LEGAL_NAME.match(part) and "__" not in part and part.strip("_") == part for part in parts)
    if readable and len(joined) <= _MAX_NAME and (clean or (len(parts) == 1 and _is_plain(tool.id))):
        return joined
    digest = hashlib.sha256(tool.id.encode("utf-8", "replace")).hexdigest()[:8]
    stem = _ILLEGAL_IN_NAME.sub("_", tool.name).strip("_")[: _MAX_NAME - len(digest) - 1]
    return f"{stem or 'tool'}_{digest}"


def _is_plain(tool_id: str) -> bool:
    return _LEGAL_NAME.match(tool_id) is not None and "__" not in tool_id


def _openai(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": call_name(tool),
            "description": _short(tool.description or tool.title, _MAX_OPENAI_DESCRIPTION),
            "parameters": input_schema(tool.parameters),
        },
    }


def _anthropic(tool: Tool) -> dict[str, Any]:
    return {
        "name": call_name(tool),
        "description": _short(tool.description or tool.title, _MAX_DESCRIPTION),
        "input_schema": input_schema(tool.parameters, legal_keys=True),
    }


def _mcp(tool: Tool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": call_name(tool),
        "title": tool.title,
        "description": _short(tool.description or tool.title, _MAX_DESCRIPTION),
        "inputSchema": input_schema(tool.parameters),
    }
    if tool.returns:
        made["outputSchema"] = input_schema(tool.returns)
    return made


_FORMATS: Mapping[str, Callable[[Tool], dict[str, Any]]] = {"openai": _openai, "anthropic": _anthropic, "mcp": _mcp}
SCHEMA_FORMATS = ("none", *_FORMATS)


@dataclass(slots=True)
class _Node:
    """One field while dotted paths are folded: what is said of it, and the fields inside it."""

    parameter: Parameter | None = None
    lists: int = 0
    children: dict[str, _Node] = field(default_factory=dict)

    @property
    def required(self) -> bool:
        """As said; where nothing is said of the field itself, whether anything inside it is required."""
        if self.parameter is not None:
            return self.parameter.required
        return any(child.required for child in self.children.values())


def input_schema(parameters: Iterable[Parameter], *, legal_keys: bool = False) -> dict[str, Any]:
    """Parameters as one JSON Schema (Draft 2020-12) of an object, dotted paths folded back into nested schemas.

    :param legal_keys: rename properties to 1 to 64 of ``a-z A-Z 0-9 _ . -``, as some runtimes demand; a renamed one
        keeps its own name as ``title``.
    """
    root = _Node()
    for parameter in parameters:
        _place(root, parameter)
    return _object(root, legal_keys)


def _place(root: _Node, parameter: Parameter) -> None:
    node = root
    for name, lists in _segments(parameter.name):
        node = node.children.setdefault(name, _Node())
        node.lists = max(node.lists, lists)
    if node.parameter is None:  # of two of one name the first counts
        node.parameter = parameter


def _segments(path: str) -> list[tuple[str, int]]:
    """``items[].order_id`` → ``[("items", 1), ("order_id", 0)]``; a path with an empty part is one literal name."""
    segments: list[tuple[str, int]] = []
    for part in path.split(".", _MAX_DEPTH):
        match = _SEGMENT.match(part)
        if match is None or not match[1].strip():
            return [(path, 0)]
        segments.append((match[1], min(len(match[2]) // 2, _MAX_DEPTH)))
    return segments


def _object(node: _Node, legal_keys: bool) -> dict[str, Any]:
    names = _legal_keys(node.children) if legal_keys else {name: name for name in node.children}
    made: dict[str, Any] = {"type": "object", "properties": {}}
    for name, child in node.children.items():
        schema = _field(child, legal_keys)
        if names[name] != name:
            schema = {"title": name, **schema}
        made["properties"][names[name]] = schema
    required = [names[name] for name, child in node.children.items() if child.required]
    if required:
        made["required"] = required
    return made


def _field(node: _Node, legal_keys: bool) -> dict[str, Any]:
    said = node.parameter
    schema = json_type(said.type) if said is not None else {"type": "object"}
    lists = _list_depth(schema)
    if node.children:
        schema = _object(node, legal_keys)
        schema = _wrapped(schema, max(node.lists, lists))
    else:
        schema = _wrapped(schema, node.lists - lists)
        if said is not None:
            _restrict(schema, said)
    if said is not None and said.description:
        schema["description"] = _short(said.description, _MAX_DESCRIPTION)
    return schema


def _list_depth(schema: Mapping[str, Any]) -> int:
    depth = 0
    while schema.get("type") == "array":
        depth += 1
        schema = schema["items"]
    return depth


def _wrapped(schema: dict[str, Any], lists: int) -> dict[str, Any]:
    for _ in range(lists):
        schema = {"type": "array", "items": schema}
    return schema


def _restrict(schema: dict[str, Any], said: Parameter) -> None:
    """Put the allowed values and the format where they belong: on the innermost items of a list."""
    inner = schema
    while inner.get("type") == "array":
        inner = inner["items"]
    kind = inner.get("type")
    if said.format and kind != "object":
        inner["format"] = said.format
    if not said.enum:
        return
    inner["enum"] = typed_values(said.enum, kind)
    if kind != "string" and any(isinstance(value, str) for value in inner["enum"]):
        for key in ("type", "anyOf", "additionalProperties"):  # the values contradict the type: the values are surer
            inner.pop(key, None)


def _legal_keys(names: Iterable[str]) -> dict[str, str]:
    """A legal key for each name: itself where legal, else made legal, with digits of its hash where that is taken."""
    names = list(names)
    legal = {name: name for name in names if 0 < len(name) <= _MAX_NAME and not _ILLEGAL_IN_KEY.search(name)}
    taken = set(legal)
    for name in names:
        if name in legal:
            continue
        key = _ILLEGAL_IN_KEY.sub("_", name).strip("_")[:_MAX_NAME]
        if not key or key in taken:
            digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
            key = f"{key[: _MAX_NAME - 9]}_{digest}" if key else f"field_{digest}"
        taken.add(key)
        legal[name] = key
    return legal


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
