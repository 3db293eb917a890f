"""The dialects of documents as one, Draft 2020-12.

``nullable`` of OpenAPI 3.0 and ``x-nullable`` become the type ``null``, ``example`` becomes ``examples``, a boolean
``exclusiveMinimum`` becomes a number, ``file`` becomes a binary string. Values that are written in another type get the stated one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ingest.sources.json_values import as_number
from ontology.json_types import json_type, typed_values

__all__ = ["stated_keywords", "with_null", "with_values_of_items"]

_NUMBER = (int, float)
# The keywords that are copied, and the type that each must have.
_KEPT: Mapping[str, Any] = {
    "type": (str, list),
    "title": str,
    "description": str,
    "enum": list,
    "const": object,
    "default": object,
    "examples": list,
    "format": str,
    "pattern": str,
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "exclusiveMinimum": _NUMBER,
    "exclusiveMaximum": _NUMBER,
    "multipleOf": _NUMBER,
    "minLength": int,
    "maxLength": int,
    "minItems": int,
    "maxItems": int,
    "uniqueItems": bool,
    "minProperties": int,
    "maxProperties": int,
    "contentEncoding": str,
    "contentMediaType": str,
    "deprecated": bool,
}
_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_SCALARS: Mapping[str, Any] = {"string": str, "integer": (int, float), "number": (int, float), "boolean": bool}
_VALUES = frozenset(("default", "const", "enum", "examples"))
_COMBINED = ("$ref", "allOf", "anyOf", "oneOf", "prefixItems")


def stated_keywords(source: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a schema that hold no schemas, in one dialect."""
    written = {key: value for key, value in source.items() if key in _KEPT and isinstance(value, _KEPT[key])}
    if len(written) < len(source):
        written.update(_numbers(source))
    _to_one_dialect(written, source)
    return written


def with_values_of_items(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a list whose allowed values, where they are those of its items, stand at these."""
    if "enum" not in source or source.get("type") != "array":  # most are
        return source
    values, items = source["enum"], source.get("items", {})
    if (
        not isinstance(values, list)
        or not isinstance(items, Mapping)
        or any(isinstance(value, list) for value in values)
    ):
        return source
    return {**{key: value for key, value in source.items() if key != "enum"}, "items": {"enum": values, **items}}


def _to_one_dialect(written: dict[str, Any], source: Mapping[str, Any]) -> None:
    """Bring the keywords of other dialects to those of Draft 2020-12."""
    if "example" in source and "examples" not in written:
        written["examples"] = [source["example"]]
    for key, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(written.get(key), bool):
            if written.pop(key) and limit in written:
                written[key] = written.pop(limit)
    type_ = written.get("type")
    if isinstance(type_, list):
        written["type"] = list(dict.fromkeys(name for name in type_ if name in _TYPES))
    elif type_ == "file":
        written.update(type="string", format="binary")
    elif type_ not in _TYPES:  # "dict", "list<int>", "any": the names of other languages
        written.pop("type", None)
        written.update({**json_type(type_), **written} if type_ else {})
    if not written.get("type", True):
        written.pop("type")
    if not written.get("enum", True):  # no value at all is never meant
        written.pop("enum")
    _type_values(written)


def _numbers(source: Mapping[str, Any]) -> dict[str, Any]:
    """The bounds that a document writes as text (``"maximum": "50"``), as numbers."""
    texts = {key: source[key] for key in source if isinstance(source[key], str) and _KEPT.get(key) in (_NUMBER, int)}
    numbers = {key: number for key, text in texts.items() if (number := as_number(text)) is not None}
    return {key: n for key, n in numbers.items() if _KEPT[key] is not int or (isinstance(n, int) and n >= 0)}


def _type_values(written: dict[str, Any]) -> None:
    """Give allowed values, default and examples the one stated type; where allowed values cannot have it, they count alone."""
    if _VALUES.isdisjoint(written):  # most are
        return
    named = [name for name in _types(written) if name != "null"]
    if len(named) != 1 or named[0] not in _SCALARS:
        return
    for key in ("default", "const"):
        if key in written:
            written[key] = _typed(written[key], named[0])
    for key in ("enum", "examples"):
        if key in written:
            typed = [_typed(each, named[0]) for each in written[key]]
            written[key] = list({json.dumps(each, default=str): each for each in typed}.values())
    allowed = [*written.get("enum", ()), *([written["const"]] if "const" in written else [])]
    if not all(value is None or _is_of(value, named[0]) for value in allowed):
        del written["type"]


def _types(written: Mapping[str, Any]) -> list[Any]:
    type_ = written.get("type")
    return type_ if isinstance(type_, list) else [type_]


def _typed(value: Any, type_: str) -> Any:
    if isinstance(value, str):
        return value if type_ == "string" else typed_values((value,), type_)[0]
    return json.dumps(value) if type_ == "string" and isinstance(value, (bool, int, float)) else value


def _is_of(value: Any, type_: str) -> bool:
    return isinstance(value, _SCALARS[type_]) and isinstance(value, bool) == (type_ == "boolean")


def with_null(written: dict[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """The schema that takes null too where the source says ``nullable``."""
    if source.get("nullable") is not True and source.get("x-nullable") is not True:
        return written
    if isinstance(written.get("enum"), list) and None not in written["enum"]:
        written["enum"] = [*written["enum"], None]
    if "type" in written:
        types = _types(written)
        written["type"] = [*types, *(["null"] if "null" not in types else [])]
    elif any(key in written for key in _COMBINED):
        outer: dict[str, Any] = {
            key: written.pop(key) for key in ("title", "description", "default", "examples") if key in written
        }
        return {**outer, "anyOf": [written, {"type": "null"}]}
    return written
