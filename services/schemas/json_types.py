"""Types as the sources write them, as JSON Schema: ``list<user_email>``, ``Edm.Int32``, ``Optional[str]``, ``integer[]``."""

from __future__ import annotations

import json
import math
import re
from typing import Any

__all__ = ["json_type", "typed_values"]

_MAX_DEPTH = 8
_WORDS = {
    "string": "string str text char varchar nvarchar uuid guid date datetime time timestamp email uri url password binary bytes byte base64 file enum",
    "integer": "integer int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 long short bigint smallint sbyte",
    "number": "number float double decimal numeric float32 float64 real money currency single",
    "boolean": "boolean bool",
    "object": "object dict dictionary map mapping struct record json complextype entitytype",
    "array": "array list tuple set sequence collection iterable frozenset",
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}
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
_ANYTHING = frozenset(("any", "mixed", "unknown", "variant"))
_NOTHING = frozenset(("null", "none", "nonetype", "undefined"))
_GENERIC = re.compile(r"^([\w.]+)\s*(?:<(.*)>|\[(.*)\]|\((.*)\))$", re.DOTALL)


def json_type(text: str) -> dict[str, Any]:
    """The JSON Schema of a type as a source writes it; a type that nobody knows is a string.

    >>> json_type("list<int>")
    {'type': 'array', 'items': {'type': 'integer'}}
    """
    return _read(text, 0)


def _read(text: str, depth: int) -> dict[str, Any]:
    text = text.strip().strip("'\"").strip().removesuffix("?").strip()
    if depth > _MAX_DEPTH or len(text) > 1_000:
        return {"type": "string"}
    if text.endswith("[]"):
        return {"type": "array", "items": _read(text[:-2], depth + 1)}
    parts = [part for part in _split(text, "|") if part.strip().lower() not in _NOTHING]
    if len(parts) > 1:
        return _union([_read(part, depth + 1) for part in parts])
    text = parts[0].strip() if parts else text
    generic = _GENERIC.match(text)
    if generic is not None:
        return _generic(generic[1], generic[2] or generic[3] or generic[4] or "", depth)
    return _plain(text)


def _plain(text: str) -> dict[str, Any]:
    word = text.lower().rsplit(".", 1)[-1].replace("-", "").replace("_", "")
    if word in _ANYTHING:
        return {}
    kind = _KINDS.get(word, "string")
    if kind == "array":
        return {"type": "array", "items": {}}
    return {"type": kind, "format": _FORMATS[word]} if word in _FORMATS else {"type": kind}


def _generic(outer: str, inner: str, depth: int) -> dict[str, Any]:
    word = outer.lower().rsplit(".", 1)[-1]
    parts = [part for part in _split(inner, ",") if part.strip()]
    if word in ("optional", "annotated", "nullable", "required", "notrequired") and parts:
        return _read(parts[0], depth + 1)
    if word == "union" and parts:
        return _union([_read(part, depth + 1) for part in parts if part.strip().lower() not in _NOTHING])
    if word in ("literal", "enum"):
        return {"type": "string"}
    if _KINDS.get(word) == "array":
        return {"type": "array", "items": _read(parts[0], depth + 1) if parts else {}}
    if _KINDS.get(word) == "object" and len(parts) == 2:
        return {"type": "object", "additionalProperties": _read(parts[1], depth + 1)}
    return _plain(outer)


def _union(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    distinct = [schema for number, schema in enumerate(schemas) if schema not in schemas[:number]]
    if not distinct or {} in distinct:
        return {}
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _split(text: str, separator: str) -> list[str]:
    """The parts of ``text`` between separators that stand outside every bracket."""
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
    """Enum values as JSON values of the kind, without repetition; one that is not of the kind stays a text."""
    typed: list[Any] = []
    seen: set[str] = set()
    for value in values:
        made = _typed(value, kind)
        mark = json.dumps(made)
        if mark not in seen:
            seen.add(mark)
            typed.append(made)
    return typed


def _typed(value: str, kind: str | None) -> Any:
    if kind not in ("integer", "number", "boolean") or len(value) > 40:
        return value
    if kind == "boolean":
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    try:
        number = int(value) if kind == "integer" else float(value)
    except ValueError:
        return value
    return number if math.isfinite(number) else value
