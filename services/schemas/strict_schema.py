"""Strict mode: a schema that a model must keep exactly, or the reasons why there is none.

The rules are those of OpenAI's guides *Structured Outputs: supported schemas* and *Function calling: strict mode* (read in 2026):

- Every object has ``additionalProperties: false`` and all its properties in ``required``. An optional property takes null instead.
- The root is an object. ``allOf``, ``not``, ``if``, ``dependent…`` and maps (``additionalProperties``, ``patternProperties``) are refused.
- Of texts ``pattern`` and nine formats, of numbers the bounds and ``multipleOf``, of lists ``minItems`` and ``maxItems`` are supported.
- At most 5,000 properties, 10 levels, 1,000 allowed values and 120,000 characters of names and allowed values.

A keyword that only restricts a value more (``maxLength``, ``uniqueItems``) is left out and said in the description where it is short.
What would take away values that a call may need (a map, a value of any kind) is a reason against strict mode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from services.schemas.input_schema import shortened

_MAX_PROPERTIES, _MAX_DEPTH, _MAX_CHARS, _MAX_ENUM_VALUES = 5_000, 10, 120_000, 1_000
_FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))
_NUMBER = ("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_BOUNDS = {"string": ("pattern", "format"), "number": _NUMBER, "integer": _NUMBER, "array": ("minItems", "maxItems")}
_SAID = ("default", "minLength", "maxLength", "uniqueItems", "format", "pattern", "contentEncoding")
_MAX_SAID = 60
_MAX_REASONS = 5
# Keywords that say more than a reference or alternatives beside them.
_STRUCTURE = frozenset(("allOf", "anyOf", "oneOf", "properties", "required", "items", "enum", "const"))
_DEPENDING = ("then", "else", "dependentSchemas")
_KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


class StrictSchema(NamedTuple):
    """A schema in strict mode; None with the reasons where there is none."""

    schema: dict[str, Any] | None
    reasons: tuple[str, ...] = ()


def strict_schema(schema: Mapping[str, Any]) -> StrictSchema:
    """The strict form of the JSON Schema (Draft 2020-12) of a function's arguments, with local references only."""
    writer = _Writer(schema.get("$defs") or {})
    strict = writer.object(schema, "")
    if writer.definitions:
        strict["$defs"] = writer.definitions
    reasons = writer.reasons
    if not reasons:
        nodes = list(_nodes(strict))
        names = [name for node in nodes for name in (*node.get("properties", ()), *node.get("$defs", ()))]
        values = [_text(value) for node in nodes for value in node.get("enum") or ()]
        counted = (
            ("number of properties", sum(len(node.get("properties", ())) for node in nodes), _MAX_PROPERTIES),
            ("levels of nesting", _depth(strict, strict.get("$defs", {}), {}), _MAX_DEPTH),
            ("characters of names and allowed values", sum(map(len, (*names, *values))), _MAX_CHARS),
            ("number of allowed values", len(values), _MAX_ENUM_VALUES),
        )
        reasons = [f"{what}: {count:,}, and the limit is {limit:,}" for what, count, limit in counted if count > limit]
    if not reasons:
        return StrictSchema(strict)
    more = [f"and {len(reasons) - _MAX_REASONS} more"] if len(reasons) > _MAX_REASONS else []
    return StrictSchema(None, (*reasons[:_MAX_REASONS], *more))


def _inner(node: Mapping[str, Any]) -> list[Any]:
    return [*node.get("properties", {}).values(), node.get("items"), *node.get("anyOf", ())]


def _nodes(node: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and all schemas inside it."""
    if isinstance(node, Mapping):
        yield node
        for inner in (*_inner(node), *node.get("$defs", {}).values()):
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
    below = max((_depth(each, definitions, known) for each in _inner(node)), default=0)
    return below + (node.get("type") == "object")


class _Writer:
    """Writer of one schema; it collects the definitions that it uses, and the reasons against it."""

    def __init__(self, source_definitions: Mapping[str, Any]) -> None:
        self._source = source_definitions
        self.definitions: dict[str, Any] = {}
        self.reasons: list[str] = []

    def _against(self, path: str, problem: str) -> dict[str, Any]:
        self.reasons.append(f"{path or 'the arguments'}: {problem}")
        return {}

    def object(self, node: Mapping[str, Any], path: str) -> dict[str, Any]:
        """An object with its stated members only."""
        properties, further = node.get("properties") or {}, node.get("additionalProperties")
        if node.get("patternProperties") or (isinstance(further, Mapping) and further):
            return self._against(path, "a map: names of members that the schema does not state")
        if not properties and path and further is not False:
            return self._against(path, "an object without stated members")
        required = node.get("required") or []
        if missing := [name for name in required if not isinstance(name, str) or name not in properties]:
            return self._against(path, f"the member {missing[0]!r} is required but not described")
        if any(key in node for key in _DEPENDING):
            return self._against(path, "members that depend on others")
        fields: dict[str, Any] = {}
        for name, inner in properties.items():
            if inner is not False:
                field = self._value(inner, f"{path}.{name}" if path else name)
                fields[name] = field if name in required else _or_null(field)
        return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}

    def _value(self, node: Any, path: str) -> dict[str, Any]:
        if not isinstance(node, Mapping):
            return self._against(path, "a value of any kind")
        parts = node.get("allOf")
        if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], Mapping):  # a reference with a comment
            node = {**{key: value for key, value in node.items() if key != "allOf"}, **parts[0]}
        if "allOf" in node or ("$ref" in node and not _STRUCTURE.isdisjoint(node)):
            return self._against(path, "parts (allOf) that must be fulfilled together")
        if isinstance(ref := node.get("$ref"), str):
            name = ref.removeprefix("#/$defs/")
            if name not in self.definitions:
                self.definitions[name] = {}
                self.definitions[name] = self._value(self._source.get(name), path)
            return _described(node, {"$ref": ref})
        branches = node.get("anyOf", node.get("oneOf"))
        if isinstance(branches, list):
            if node.get("properties"):
                return self._against(path, "fields beside alternatives")
            kinds = {"type": types} if (types := _types(node)) else {}
            either = [{**kinds, **branch} if isinstance(branch, Mapping) else branch for branch in branches]
            return _described(node, {"anyOf": [self._value(branch, path) for branch in either]})
        types = _types(node)
        if not types:
            return self._against(path, "a value of any kind")
        each = [{"type": "null"} if type_ == "null" else self._typed(node, type_, path) for type_ in types]
        if len(each) == 2 and "null" in types:
            return _described(node, _or_null(each[1 - types.index("null")]))
        return _described(node, each[0] if len(each) == 1 else {"anyOf": each})

    def _typed(self, node: Mapping[str, Any], type_: str, path: str) -> dict[str, Any]:
        if type_ == "object":
            return self.object(node, path)
        written: dict[str, Any] = {"type": type_}
        if "const" in node or isinstance(node.get("enum"), list):
            values = [node["const"]] if "const" in node else node["enum"]
            written["enum"] = [value for value in values if _is_of(value, type_)]
            if not written["enum"]:
                return self._against(path, "allowed values of another type")
        if type_ == "array":
            if not node.get("items"):
                return self._against(path, "a list of values of any kind")
            written["items"] = self._value(node["items"], f"{path}[]")
        for key in _BOUNDS.get(type_, ()):
            if _is_bound(key, node.get(key)):
                written[key] = node[key]
        return written


def _described(node: Mapping[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    """The schema with the description, and in it the short keywords that are left out."""
    left_out = [key for key in _SAID if node.get(key) is not None and key not in written]
    said = [f"{key}: {_text(node[key])}" for key in left_out if len(_text(node[key])) <= _MAX_SAID]
    text = " ".join([str(node.get("description") or ""), f"({', '.join(said)})" if said else ""]).strip()
    if not text:
        return written
    if "$ref" in written:  # a reference takes no keyword beside it
        return {"anyOf": [written], "description": text}
    return {**written, "description": text}


def _types(node: Mapping[str, Any]) -> list[str]:
    """The types of a value; where none is stated those of the allowed values, or of the fields."""
    type_ = node.get("type")
    values = [node["const"]] if "const" in node else node.get("enum")
    if isinstance(type_, str | list):
        types = [type_] if isinstance(type_, str) else [str(each) for each in type_]
        if isinstance(values, list) and len(types) > 1:
            types = [each for each in types if any(_is_of(value, each) for value in values)] or types
    elif isinstance(values, list):
        types = [_KINDS[type(value)] for value in values if type(value) in _KINDS]
    else:
        types = ["object"] if node.get("properties") else ["array"] if node.get("items") else []
    return list(dict.fromkeys(types))


def _is_of(value: Any, type_: str) -> bool:
    kind = _KINDS.get(type(value))
    return kind == type_ or (type_ == "number" and kind == "integer")


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that takes null too: the value of an absent property."""
    null = {"type": "null"}
    if isinstance(schema.get("anyOf"), list):
        return schema if null in schema["anyOf"] else {**schema, "anyOf": [*schema["anyOf"], null]}
    if "$ref" in schema or schema.get("type") == "object":
        text = {"description": schema["description"]} if "description" in schema else {}
        return {"anyOf": [{key: value for key, value in schema.items() if key != "description"}, null], **text}
    if not isinstance(schema.get("type"), str) or schema["type"] == "null":
        return schema
    with_null = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        with_null["enum"] = [*schema["enum"], None]
    return with_null


def _is_bound(key: str, value: Any) -> bool:
    """Whether strict mode takes a keyword with this value, which a document may write as anything."""
    if key == "format":
        return isinstance(value, str) and value in _FORMATS
    return _is_simple(value) if key == "pattern" else isinstance(value, int | float) and not isinstance(value, bool)


def _is_simple(pattern: Any) -> bool:
    """Whether a regular expression has neither look-around nor classes of Unicode, which constrained decoding may not know."""
    if not isinstance(pattern, str) or any(mark in pattern for mark in ("(?=", "(?!", "(?<", "\\b", "\\B")):
        return False
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _text(value: Any) -> str:
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _MAX_CHARS)
