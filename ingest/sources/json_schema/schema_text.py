"""The text of a JSON Schema, with what JSON has alone."""

from __future__ import annotations

import json
import re
from typing import Any

from ontology.json_object import canonical_text

__all__ = ["json_value", "schema_text"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_JSON = re.compile("[\ud800-\udfff]|NaN|Infinity")


def schema_text(schema: Any) -> str:
    """The canonical text of a schema or of a part of one. Few texts need the slow way, which parses them again."""
    try:
        text = json.dumps(schema, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    except TypeError:  # keys of several types
        return canonical_text(json_value(schema))
    return canonical_text(json_value(schema)) if _NO_JSON.search(text) else text


def json_value(value: Any) -> Any:
    """Replace lone surrogates, numbers and types that JSON does not have in a JSON value; other characters are escaped in JSON."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return json.loads(_SURROGATE.sub("\ufffd", text), parse_constant=lambda _: None)
