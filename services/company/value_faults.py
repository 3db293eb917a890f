"""Values of a request against their schemas."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from services.company.api_documents import Schema
from services.company.refusal import wrong

__all__ = ["check_value", "parsed"]

_MAX_TEXT = 10_000
_MAX_NUMBER = 10**15
_KINDS: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
_FORMATS: Mapping[str, Callable[[str], object]] = {
    "date": date.fromisoformat,
    "date-time": datetime.fromisoformat,
}


def parsed(texts: Sequence[str], schema: Schema, where: str) -> Any:
    """The value of a parameter from its texts in the URL.

    :raises Refusal: 400 when it is none of its schema.
    """
    kind = schema.get("type")
    if kind == "array":
        items = [part for text in texts for part in text.split(",")]
        return [parsed([item], schema["items"], where) for item in items]
    if len(texts) > 1:
        raise wrong(where, "it is given several times")
    text = texts[0]
    value: Any = text
    try:
        if kind == "integer" and len(text) < 20:
            value = int(text)
        elif kind == "number" and len(text) < 40:
            value = float(text)
        elif kind == "boolean":
            value = {"true": True, "false": False}.get(text, text)
    except ValueError:
        pass
    check_value(value, schema, where)
    return value


def check_value(value: Any, schema: Schema, where: str) -> None:
    """Check a value and all that is in it: kinds, enums, patterns, dates, bounds and required members.

    :raises Refusal: 400 that names the first part that is wrong.
    """
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_KINDS[kind](value) for kind in kinds):
        raise wrong(where, f"it must be {' or '.join(kinds)}")
    if "enum" in schema and value not in schema["enum"]:
        raise wrong(where, f"it must be one of {', '.join(map(str, schema['enum']))}")
    if isinstance(value, str):
        _check_text(value, schema, where)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(value, schema, where)
    elif isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                raise wrong(f"{where}.{name}", "it is missing")
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                check_value(value[name], inner, f"{where}.{name}")
    elif isinstance(value, list):
        for at, item in enumerate(value):
            check_value(item, schema.get("items", {}), f"{where}[{at}]")


def _check_text(value: str, schema: Schema, where: str) -> None:
    if len(value) > _MAX_TEXT:
        raise wrong(where, f"it has more than {_MAX_TEXT:,} characters")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        raise wrong(where, f"it must match {schema['pattern']}")
    read = _FORMATS.get(schema.get("format", ""))
    try:
        if read is not None:
            read(value)
    except ValueError:
        raise wrong(where, f"it must be a {schema['format']} of ISO 8601") from None
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise wrong(where, "it is no text of Unicode")


def _check_number(value: float, schema: Schema, where: str) -> None:
    if not math.isfinite(value) or abs(value) > _MAX_NUMBER:
        raise wrong(where, "it is too large")
    if value > schema.get("maximum", value) or value < schema.get("minimum", value):
        raise wrong(where, "it is out of bounds")
