"""The keywords that the operations of a document state about their inputs, counted from the document itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

KEYWORDS = (
    "default",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "enum",
    "format",
)
METHODS = ("get", "put", "post", "delete", "patch")
_HELD = ("items", "additionalProperties", "not")


def openapi_inputs(document: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield each operation's id with the schemas of its parameters and of its body (OpenAPI 3.0)."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method not in item:
                continue
            body = item[method]
            parameters = {
                (each["name"], each["in"]): each
                for each in (_at(document, node) for node in [*item.get("parameters", ()), *body.get("parameters", ())])
            }
            schemas = [each.get("schema", {}) for each in parameters.values() if each["in"] != "cookie"]
            content = _at(document, body.get("requestBody", {})).get("content", {})
            media: Any = next((content[name] for name in content if "json" in name), next(iter(content.values()), {}))
            yield body.get("operationId", f"{method} {path}"), [*schemas, media.get("schema", {})]


def keywords_of(schemas: list[Any], document: Mapping[str, Any]) -> Counter[str]:
    """Count the keywords with their values, in the schemas and once in everything that they refer to."""
    found: Counter[str] = Counter()
    seen: set[str] = set()
    pending = list(schemas)
    while pending:
        node = pending.pop()
        if not isinstance(node, Mapping) or node.get("readOnly") is True:
            continue
        ref = node.get("$ref")
        if isinstance(ref, str):
            if ref not in seen:
                seen.add(ref)
                pending.append(_at(document, node))
            continue
        _count(node, found)
        pending += _inner(node)
    return found


def schema_keywords(schema: Mapping[str, Any]) -> Counter[str]:
    """Count the same in a schema that stands alone."""
    found: Counter[str] = Counter()
    pending: list[Any] = [schema, *schema.get("$defs", {}).values()]
    while pending:
        node = pending.pop()
        if isinstance(node, Mapping):
            _count(node, found)
            pending += _inner(node)
    return found


def _count(node: Mapping[str, Any], found: Counter[str]) -> None:
    for key in KEYWORDS:
        if key in node and not isinstance(node[key], Mapping):
            value = [each for each in node[key] if each is not None] if key == "enum" else node[key]
            if key == "enum" and node.get("type") == "string":  # a document may leave texts unquoted
                value = [each if isinstance(each, str) else json.dumps(each) for each in value]
            if isinstance(value, str) and key not in ("pattern", "format") and node.get("type") != "string":
                value = json.loads(value)  # a document may write its numbers as texts
            found[f"{key}={json.dumps(value)}"] += 1


def _inner(node: Mapping[str, Any]) -> list[Any]:
    lists = [each for key in ("allOf", "anyOf", "oneOf") for each in node.get(key, ())]
    return [*node.get("properties", {}).values(), *(node[key] for key in _HELD if key in node), *lists]


def _at(document: Mapping[str, Any], node: Any) -> Any:
    while isinstance(node, Mapping) and "$ref" in node:
        found: Any = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        node = found
    return node
