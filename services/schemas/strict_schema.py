"""The schema of a function in the strict mode of OpenAI, or the reasons why there is none.

The rules are those of OpenAI's guides *Structured Outputs: supported schemas* and *Function calling: strict mode* (read in 2026):

- Every object has ``additionalProperties: false`` and all its properties in ``required``. An optional property takes null instead.
- The root is an object. ``allOf``, ``not``, ``if``, ``dependent…`` and maps (``additionalProperties``, ``patternProperties``) are refused.
- Of texts ``pattern`` and nine formats, of numbers the bounds and ``multipleOf``, of lists ``minItems`` and ``maxItems`` are supported.
- Limits: see :mod:`services.schemas.strict_schema`.

A keyword that only restricts a value more (``maxLength``, ``uniqueItems``) is left out and said in the description where it is short.
What would take away values that a call may need (a map, a value of any kind) is a reason against strict mode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from services.schemas.input_schema import as_list, dependent_fields, merged_all_of, shortened

__all__ = ["StrictSchema", "strict_schema"]

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


FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))
"""The formats of texts that are supported."""
_BOUNDS = {
    "string": ("pattern", "format"),
    "number": ("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "integer": ("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "array": ("minItems", "maxItems"),
}
_SAID = ("default", "minLength", "maxLength", "uniqueItems", "format", "pattern", "contentEncoding")
_MAX_SAID = 60
_MAX_REASONS = 5
# Keywords beside which a reference is not all that a schema says.
_STRUCTURE = frozenset(("allOf", "anyOf", "oneOf", "properties", "required", "items", "enum", "const"))
_KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


class StrictSchema(NamedTuple):
    """A schema in strict mode; None with the reasons where there is none."""

    schema: dict[str, Any] | None
    reasons: tuple[str, ...] = ()


def strict_schema(schema: Mapping[str, Any]) -> StrictSchema:
    """The strict form of the JSON Schema (Draft 2020-12) of a function's arguments, with local references only."""
    writer = _Writer(schema)
    strict = writer.root()
    reasons = [*writer.reasons, *([] if writer.reasons else limit_problems(strict))]
    if reasons:
        more = [f"and {len(reasons) - _MAX_REASONS} more"] if len(reasons) > _MAX_REASONS else []
        return StrictSchema(None, (*reasons[:_MAX_REASONS], *more))
    return StrictSchema(strict)


class _Writer:
    """Writer of one schema; it collects the reasons against it."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = schema
        self._source_defs: Mapping[str, Any] = schema.get("$defs") or {}
        self._defs: dict[str, Any] = {}
        self._merged_names: dict[str, str] = {}
        self.reasons: list[str] = []

    def root(self) -> dict[str, Any]:
        """The whole schema, with the definitions that it uses."""
        written = self._object(self._root, "")
        return {**written, **({"$defs": self._defs} if self._defs else {})}

    def _against(self, path: str, problem: str) -> dict[str, Any]:
        self.reasons.append(f"{path or 'the arguments'}: {problem}")
        return {}

    def _value(self, node: Any, path: str) -> dict[str, Any]:
        if not isinstance(node, Mapping):
            return self._against(path, "a value of any kind")
        if "allOf" in node or ("$ref" in node and not _STRUCTURE.isdisjoint(node)):
            return self._merged(node, path)
        if isinstance(ref := node.get("$ref"), str):
            return self._described(node, self._reference(ref, path))
        return self._own(node, path)

    def _merged(self, node: Mapping[str, Any], path: str) -> dict[str, Any]:
        """The parts as one schema: a definition of its own where one is a reference, which may lead back here."""
        refs, parts = list(_references(node)), as_list(node.get("allOf"))
        annotated = len(refs) == len(parts) == 1 and refs[0] == parts[0].get("$ref") and _STRUCTURE.isdisjoint(parts[0])
        if annotated and _STRUCTURE.intersection(node) == {"allOf"}:
            return self._described(node, self._reference(refs[0], path))
        merged, problem = merged_all_of(node, self._source_defs)
        if problem:
            return self._against(path, problem)
        if not refs:
            return self._own(merged, path)
        key = json.dumps(node, sort_keys=True, default=str)
        if key not in self._merged_names:
            stem, number = refs[0].removeprefix("#/$defs/"), 2
            while (name := f"{stem}_{number}") in self._source_defs or name in self._defs:
                number += 1
            self._merged_names[key] = name
            self._defs[name] = {}
            self._defs[name] = self._own(merged, path)
        return {"$ref": f"#/$defs/{self._merged_names[key]}"}

    def _own(self, node: Mapping[str, Any], path: str) -> dict[str, Any]:
        """A schema without a reference and without ``allOf``."""
        for key in ("anyOf", "oneOf"):
            if isinstance(node.get(key), list):
                return self._described(node, self._alternatives(node, node[key], path))
        types = _types(node)
        if not types:
            return self._against(path, "a value of any kind")
        null, named = "null" in types, [type_ for type_ in types if type_ != "null"]
        if not named:
            return self._described(node, {"type": "null"})
        each = [self._typed(node, type_, path) for type_ in named]
        written = each[0] if len(each) == 1 else {"anyOf": each}
        return self._described(node, _or_null(written) if null else written)

    def _reference(self, ref: str, path: str) -> dict[str, Any]:
        name = ref.removeprefix("#/$defs/")
        if name not in self._defs:
            self._defs[name] = {}
            self._defs[name] = self._value(self._source_defs.get(name), path)
        return {"$ref": ref}

    def _alternatives(self, node: Mapping[str, Any], branches: list[Any], path: str) -> dict[str, Any]:
        if node.get("properties"):
            return self._against(path, "fields beside alternatives")
        types = _types(node)
        kinds = {"type": types} if types else {}
        return {
            "anyOf": [
                self._value({**kinds, **branch} if isinstance(branch, Mapping) else branch, path) for branch in branches
            ]
        }

    def _typed(self, node: Mapping[str, Any], type_: str, path: str) -> dict[str, Any]:
        if type_ == "object":
            return self._object(node, path)
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
            if (
                key in node
                and (key != "format" or node[key] in FORMATS)
                and (key != "pattern" or _is_simple(node[key]))
            ):
                written[key] = node[key]
        return written

    def _object(self, node: Mapping[str, Any], path: str) -> dict[str, Any]:
        properties, further = node.get("properties") or {}, node.get("additionalProperties")
        if node.get("patternProperties") or (isinstance(further, Mapping) and further):
            return self._against(path, "a map: names of members that the schema does not state")
        if not properties and path and further is not False:
            return self._against(path, "an object without stated members")
        required = node.get("required") or []
        if missing := [name for name in required if name not in properties]:
            return self._against(path, f"the member {missing[0]!r} is required but not described")
        if depending := [name for name in dependent_fields(node) if name not in properties]:
            return self._against(path, f"the member {depending[0]!r} depends on others")
        fields: dict[str, Any] = {}
        for name, inner in properties.items():
            if inner is False:
                continue
            field = self._value(inner, f"{path}.{name}" if path else name)
            fields[name] = field if name in required else _or_null(field)
        return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}

    def _described(self, node: Mapping[str, Any], written: dict[str, Any]) -> dict[str, Any]:
        """The schema with the description, and in it the short keywords that are left out."""
        said = [
            f"{key}: {_said(node[key])}" for key in _SAID if key in node and key not in written and _is_short(node[key])
        ]
        text = " ".join([str(node.get("description") or ""), f"({', '.join(said)})" if said else ""]).strip()
        if not text:
            return written
        if "$ref" in written:  # a reference takes no keyword beside it
            return {"anyOf": [written], "description": text}
        return {**written, "description": text}


def _references(node: Any) -> Iterator[str]:
    """Yield the references among a schema and its parts."""
    if isinstance(node, Mapping):
        if isinstance(ref := node.get("$ref"), str):
            yield ref
        for part in as_list(node.get("allOf")):
            yield from _references(part)


def _types(node: Mapping[str, Any]) -> list[str]:
    """The types of a value; where none is stated those of the allowed values, or of the fields."""
    type_ = node.get("type")
    values = [node["const"]] if "const" in node else node.get("enum")
    if isinstance(type_, (str, list)):
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
    if isinstance(schema.get("anyOf"), list):
        null = {"type": "null"}
        return schema if null in schema["anyOf"] else {**schema, "anyOf": [*schema["anyOf"], null]}
    if "$ref" in schema or schema.get("type") == "object":
        text = {"description": schema["description"]} if "description" in schema else {}
        inner = {key: value for key, value in schema.items() if key != "description"}
        return {"anyOf": [inner, {"type": "null"}], **text}
    if not isinstance(schema.get("type"), str) or schema["type"] == "null":
        return schema
    with_null = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        with_null["enum"] = [*schema["enum"], None]
    return with_null


def _is_simple(pattern: Any) -> bool:
    """Whether a regular expression has neither look-around nor classes of Unicode, which constrained decoding may not know."""
    if not isinstance(pattern, str) or any(mark in pattern for mark in ("(?=", "(?!", "(?<", "\\b", "\\B")):
        return False
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _is_short(value: Any) -> bool:
    return value is not None and len(_said(value)) <= _MAX_SAID


def _said(value: Any) -> str:
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _MAX_SAID + 1)
