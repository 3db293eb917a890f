"""The documented rules of strict mode, checked on a finished schema, apart from the code that writes one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_SUPPORTED = {
    "string": {"enum", "pattern", "format"},
    "number": {"enum", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "integer": {"enum", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "boolean": {"enum"},
    "null": {"enum"},
    "array": {"items", "minItems", "maxItems"},
    "object": {"properties", "required", "additionalProperties"},
}
_ANYWHERE = {"description", "type", "$defs"}
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}


def broken_rules(schema: dict[str, Any]) -> list[str]:
    """The rules that a schema breaks; empty for a schema that strict mode accepts."""
    broken = [] if schema.get("type") == "object" and "anyOf" not in schema else ["the root is no plain object"]
    count = 0
    for path, node in _nodes(schema, "#"):
        if "$ref" in node:
            name = node["$ref"].removeprefix("#/$defs/")
            if set(node) != {"$ref"} or name not in schema.get("$defs", {}):
                broken.append(f"{path}: reference {node}")
            continue
        if "anyOf" in node:
            if set(node) - {"anyOf", "description"} or not node["anyOf"]:
                broken.append(f"{path}: beside anyOf: {sorted(node)}")
            continue
        types: list[Any] = node["type"] if isinstance(node.get("type"), list) else [node.get("type")]
        if not types or any(each not in _SUPPORTED for each in types) or len(set(types) - {"null"}) > 1:
            broken.append(f"{path}: type {types}")
            continue
        known = _ANYWHERE.union(*(_SUPPORTED[each] for each in types))
        if set(node) - known:
            broken.append(f"{path}: unsupported {sorted(set(node) - known)}")
        if node.get("format", "date") not in _FORMATS:
            broken.append(f"{path}: format {node['format']}")
        if "object" in types:
            count += len(node["properties"])
            if node.get("additionalProperties") is not False or node.get("required") != list(node["properties"]):
                broken.append(f"{path}: an open object, or an optional property")
        if "array" in types and not node.get("items"):
            broken.append(f"{path}: a list without items")
    return [*broken, *(["more than 5000 properties"] if count > 5_000 else [])]


def _nodes(node: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for key in ("properties", "$defs"):
        for name, inner in node.get(key, {}).items():
            yield from _nodes(inner, f"{path}/{key}/{name}")
    for number, inner in enumerate([*node.get("anyOf", ()), *([node["items"]] if "items" in node else [])]):
        yield from _nodes(inner, f"{path}/{number}")
