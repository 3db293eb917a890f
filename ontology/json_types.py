"""Type names of documents as JSON Schema: ``list<user_email>``, ``Edm.Int32``, ``Optional[str]``, ``integer[]``."""

from __future__ import annotations

import json
import math
import re
from typing import Any

__all__ = ["json_type", "typed_values"]

_MAX_DEPTH = 8
_MAX_CHARS = 1_000
_MAX_VALUE_CHARS = 40
_NAMES = {
    "string": "string str text char varchar nvarchar uuid guid date datetime time timestamp email uri url password "
    "binary bytes byte base64 file enum",
    "integer": "integer int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 long short bigint smallint sbyte",
    "number": "number float double decimal numeric float32 float64 real money currency single",
    "boolean": "boolean bool",
    "object": "object dict dictionary map mapping struct record json complextype entitytype",
    "array": "array list tuple set sequence collection iterable frozenset",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_FORMATS = {
    "uuid": "uuid",
    "guid": "uuid",
    "date": "date",
    "datetime": "date-time",
    "datetimeoffset": "date-time",
    "timestamp": "date-time",
    "email": "email",
    "uri": "uri",
    "url": "uri",
}
_ANY = frozenset(("any", "mixed", "unknown", "variant"))
_NULL = frozenset(("null", "none", "nonetype", "undefined"))
_WRAPPERS = frozenset(("optional", "annotated", "nullable", "required", "notrequired"))
_PARAMETRISED = re.compile(r"^([\w.]+)\s*(?:<(.*)>|\[(.*)\]|\((.*)\))$", re.DOTALL)


def json_type(text: str) -> dict[str, Any]:
    """The JSON Schema of a type as a document writes it. An unknown type is a string.

    >>> json_type("list<int>")
    {'type': 'array', 'items': {'type': 'integer'}}
    """
    return _parse(text, 0)


def _parse(text: str, depth: int) -> dict[str, Any]:
    text = text.strip().strip("'\"").strip().removesuffix("?").strip()
    if depth > _MAX_DEPTH or len(text) > _MAX_CHARS:
        return {"type": "string"}
    if text.endswith("[]"):
        return {"type": "array", "items": _parse(text[:-2], depth + 1)}
    parts = _without_null(_split(text, "|"))
    if len(parts) > 1:
        return _any_of([_parse(part, depth + 1) for part in parts])
    text = parts[0].strip() if parts else text
    parametrised = _PARAMETRISED.match(text)
    if parametrised is None:
        return _named(text)
    name, *arguments = parametrised.groups(default="")
    return _apply(name, "".join(arguments), depth)


def _named(text: str) -> dict[str, Any]:
    name = text.lower().rsplit(".", 1)[-1].replace("-", "").replace("_", "")
    if name in _ANY:
        return {}
    kind = _KINDS.get(name, "string")
    if kind == "array":
        return {"type": "array", "items": {}}
    return {"type": kind, "format": _FORMATS[name]} if name in _FORMATS else {"type": kind}


def _apply(outer: str, inner: str, depth: int) -> dict[str, Any]:
    """The type ``outer`` with the parameters ``inner``: ``list`` and ``int``."""
    name = outer.lower().rsplit(".", 1)[-1]
    parts = [part for part in _split(inner, ",") if part.strip()]
    if name in _WRAPPERS and parts:
        return _parse(parts[0], depth + 1)
    if name == "union" and parts:
        return _any_of([_parse(part, depth + 1) for part in _without_null(parts)])
    if name in ("literal", "enum"):
        return {"type": "string"}
    if _KINDS.get(name) == "array":
        return {"type": "array", "items": _parse(parts[0], depth + 1) if parts else {}}
    if _KINDS.get(name) == "object" and len(parts) == 2:
        return {"type": "object", "additionalProperties": _parse(parts[1], depth + 1)}
    return _named(outer)


def _without_null(parts: list[str]) -> list[str]:
    return [part for part in parts if part.strip().lower() not in _NULL]


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    distinct = [schema for number, schema in enumerate(schemas) if schema not in schemas[:number]]
    if not distinct or {} in distinct:
        return {}
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _split(text: str, separator: str) -> list[str]:
    """Split at the separators outside all brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "<[(":
            depth += 1
        elif character in ">])":
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def typed_values(values: tuple[str, ...], kind: str | None) -> list[Any]:
    """Allowed values as JSON values of a kind (``integer``, …), without duplicates. A value of another kind stays a
    string.
    """
    typed = [_typed(value, kind) for value in values]
    return list({json.dumps(value): value for value in typed}.values())


def _typed(value: str, kind: str | None) -> Any:
    if kind not in ("integer", "number", "boolean") or len(value) > _MAX_VALUE_CHARS:
        return value
    if kind == "boolean":
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    try:
        number = int(value) if kind == "integer" else float(value)
    except ValueError:
        return value
    return number if math.isfinite(number) else value
