"""What a JSON Schema says of a value: its kinds, the properties of an object, the items of a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

__all__ = ["items_of", "kind_of", "kinds", "properties_of", "required_parts", "resolved"]

_MAX_PARTS = 200
_KINDS = {str: "string", bool: "boolean", int: "integer", type(None): "null", bytes: "string"}
_UNTYPED = {"properties": "object", "items": "array", "pattern": "string", "minLength": "string", "maxLength": "string"}


def kind_of(value: Any) -> str:
    """Return the JSON type of a value (``integer`` also for 2.0, ``string`` for bytes); ``file`` for a file; else the Python type's name."""
    if isinstance(value, tuple) and len(value) == 3 and isinstance(value[1], bytes):
        return "file"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, list | tuple):
        return "array"
    return _KINDS.get(type(value), type(value).__name__)


def kinds(schema: Any, root: Any) -> frozenset[str] | None:
    """Return the JSON types that a schema allows; None where it allows any, or does not say within 200 parts.

    :param root: the schema that local references (``#/$defs/…``) point into.
    """
    return _kinds(schema, root, frozenset(), [_MAX_PARTS])


def resolved(schema: Any, root: Any) -> Mapping[str, Any]:
    """Return the schema itself, or what it refers to; empty where that is no object or stands elsewhere."""
    for _ in range(_MAX_PARTS):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        schema = _pointed_at(reference, root)
    return {}


def required_parts(schema: Any, root: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the schema and all its parts under ``$ref`` and ``allOf``, each once."""
    yield from _parts(schema, root, ("allOf",))


def properties_of(schema: Any, root: Any) -> dict[str, Any]:
    """Return the properties of an object, those of all parts and alternatives of its schema together.

    Of a property that several parts state the first counts; one that only alternatives state may be as any of them says.
    """
    found: dict[str, Any] = {}
    for name, inner in _stated(required_parts(schema, root)):
        found.setdefault(name, inner)
    alternatives: dict[str, list[Any]] = {}
    for name, inner in _stated(_all_parts(schema, root)):
        known = alternatives.setdefault(name, [])
        known += [inner] if name not in found and inner not in known else []
    for name, inners in alternatives.items():
        if name not in found:
            title = {key: inners[0][key] for key in ("title",) if isinstance(inners[0], Mapping) and key in inners[0]}
            found[name] = inners[0] if len(inners) == 1 else {**title, "anyOf": inners}
    return found


def items_of(schema: Any, root: Any) -> Any:
    """Return the schema of the items of a list, or None."""
    return next((part["items"] for part in _all_parts(schema, root) if "items" in part), None)


def _kinds(schema: Any, root: Any, outer: frozenset[int], left: list[int]) -> frozenset[str] | None:
    """The kinds of a schema that stands in others; a schema that is an alternative of itself says nothing.

    :param left: parts that are still looked at: alternatives that share parts can stand for more than there is time for.
    """
    allowed: frozenset[str] | None = None
    for part in required_parts(schema, root):
        left[0] -= 1
        if left[0] < 0:
            return None
        own = _own_kinds(part, root, outer | {id(part)}, left) if id(part) not in outer else None
        allowed = own if allowed is None else allowed if own is None else allowed & own
    return allowed


def _own_kinds(schema: Mapping[str, Any], root: Any, outer: frozenset[int], left: list[int]) -> frozenset[str] | None:
    allowed: frozenset[str] | None = None
    stated = schema.get("type")
    if isinstance(stated, str):
        allowed = frozenset({stated})
    elif isinstance(stated, list):
        allowed = frozenset(map(str, stated))
    elif values := schema.get("enum") or ([schema["const"]] if "const" in schema else []):
        allowed = frozenset(map(kind_of, values))
    elif inferred := {kind for key, kind in _UNTYPED.items() if key in schema}:
        allowed = frozenset(inferred)
    if allowed is not None and schema.get("nullable") is True:
        allowed |= {"null"}
    for key in ("anyOf", "oneOf"):
        branches = [_kinds(branch, root, outer, left) for branch in _list(schema.get(key))]
        known = [branch for branch in branches if branch is not None]
        if branches and len(known) == len(branches):
            union = frozenset[str]().union(*known)
            allowed = union if allowed is None else allowed | union if "null" in union else allowed
    return allowed


def _stated(parts: Iterator[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    for part in parts:
        properties = part.get("properties")
        for name, inner in properties.items() if isinstance(properties, Mapping) else ():
            yield str(name), inner


def _all_parts(schema: Any, root: Any) -> Iterator[Mapping[str, Any]]:
    yield from _parts(schema, root, ("allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"))


def _parts(schema: Any, root: Any, keys: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    waiting, seen = [schema], 0
    done: set[int] = set()
    while waiting and seen < _MAX_PARTS:
        part = waiting.pop(0)
        seen += 1
        if not isinstance(part, Mapping) or id(part) in done:
            continue
        done.add(id(part))
        yield part
        if isinstance(part.get("$ref"), str):
            waiting.append(_pointed_at(part["$ref"], root))
        waiting += [branch for key in keys for branch in _schemas(part.get(key))]


def _pointed_at(reference: str, root: Any) -> Any:
    if not reference.startswith("#"):
        return None
    node = root
    for word in reference[1:].strip("/").split("/") if len(reference) > 1 else ():
        key = unquote(word).replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(key)
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node


def _schemas(value: Any) -> list[Any]:
    """The schemas under a keyword: those of a list, those of a map by name, or the one."""
    if isinstance(value, list) or not isinstance(value, Mapping):
        return _list(value)
    return [value, *(inner for inner in value.values() if isinstance(inner, Mapping))]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
