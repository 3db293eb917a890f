"""The limits on the size of a strict schema, as OpenAI's guide *Structured Outputs: supported schemas* states them (read in 2026)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["limit_problems"]

_MAX_PROPERTIES = 5_000
_MAX_DEPTH = 10
_MAX_CHARS = 120_000
_MAX_ENUM_VALUES = 1_000
_LARGE_ENUM, _MAX_LARGE_ENUM_CHARS = 250, 15_000


def limit_problems(schema: Mapping[str, Any]) -> list[str]:
    """The limits that a schema exceeds, one sentence each; empty for a schema within them."""
    nodes = list(_nodes(schema))
    properties = [name for node in nodes for name in node.get("properties", ())]
    enums = [list(map(_text, node["enum"])) for node in nodes if isinstance(node.get("enum"), list)]
    names = [*properties, *schema.get("$defs", ())]
    chars = sum(map(len, names)) + sum(len(value) for values in enums for value in values)
    large = max((sum(map(len, values)) for values in enums if len(values) > _LARGE_ENUM), default=0)
    depth = _depth(schema, schema.get("$defs", {}), {})
    return [
        f"{what}: {count:,}, and the limit is {limit:,}"
        for what, count, limit in (
            ("number of properties", len(properties), _MAX_PROPERTIES),
            ("levels of nesting", depth, _MAX_DEPTH),
            ("characters of names and allowed values", chars, _MAX_CHARS),
            ("number of allowed values", sum(map(len, enums)), _MAX_ENUM_VALUES),
            ("characters of the allowed values of one field", large, _MAX_LARGE_ENUM_CHARS),
        )
        if count > limit
    ]


def _nodes(node: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and all schemas inside it."""
    if not isinstance(node, Mapping):
        return
    yield node
    for key in ("properties", "$defs"):
        for inner in node.get(key, {}).values():
            yield from _nodes(inner)
    for inner in (node.get("items"), *node.get("anyOf", ())):
        yield from _nodes(inner)


def _depth(node: Any, definitions: Mapping[str, Any], known: dict[str, int]) -> int:
    """Levels of objects; a schema that refers to itself is entered once."""
    if not isinstance(node, Mapping):
        return 0
    ref = node.get("$ref")
    if isinstance(ref, str):
        if ref not in known:
            known[ref] = 0
            known[ref] = _depth(definitions.get(ref.removeprefix("#/$defs/")), definitions, known)
        return known[ref]
    inner = [*node.get("properties", {}).values(), node.get("items"), *node.get("anyOf", ())]
    below = max((_depth(each, definitions, known) for each in inner), default=0)
    return below + (node.get("type") == "object")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
