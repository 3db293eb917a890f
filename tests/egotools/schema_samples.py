"""Arguments made from the JSON Schema of a tool: required ones alone, or all of the first levels."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["sample_arguments"]

_TEXTS = ("a'b & c=d/é?#", "abc", "Abc-123_x", "1", "12345678", "123456789012", "2024-01-31", "2024-01-31T10:00:00",
          "/Date(1700000000000)/", "arn:aws:iam::123456789012:role/name", "x" * 40)  # fmt: skip
_FORMATS = {
    "date-time": "2024-01-31T10:00:00Z",
    "date": "2024-01-31",
    "uuid": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "duration": "PT1H30M",
}
_MAX_DEPTH = 4
_MAX_FIELDS = 6


def sample_arguments(schema: Mapping[str, Any], randomness: random.Random, *, optional: bool) -> dict[str, Any]:
    """Arguments that a schema describes.

    :param optional: whether also inputs that are not required.
    """
    value = _Sampler(schema, randomness, optional).value(schema, 0)
    assert isinstance(value, dict)
    return value


class _Sampler:
    def __init__(self, root: Mapping[str, Any], randomness: random.Random, optional: bool) -> None:
        self._root = root
        self._randomness = randomness
        self._optional = optional

    def value(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, Mapping):
            return "x"
        if "$ref" in schema:
            return self.value(self._root["$defs"][schema["$ref"].removeprefix("#/$defs/")], depth)
        if schema.get("anyOf"):
            return self.value(schema["anyOf"][0], depth)
        if schema.get("enum"):
            return self._randomness.choice([value for value in schema["enum"] if value is not None])
        kinds = schema.get("type", "string")
        kind = next(one for one in ([kinds] if isinstance(kinds, str) else kinds) if one != "null")
        made: Any = getattr(self, f"_{kind}")(schema, depth)
        return made

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        properties = schema.get("properties", {})
        optional = [name for name in properties if name not in required]
        chosen = set(self._randomness.sample(optional, min(len(optional), _MAX_FIELDS)))
        if not self._optional or depth >= _MAX_DEPTH or schema.get("maxProperties") == 1:
            chosen = set(optional[: schema.get("minProperties", 0)])
        found = {
            name: self.value(inner, depth + 1) for name, inner in properties.items() if name in {*required, *chosen}
        }
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping) and (depth < _MAX_DEPTH or schema.get("minProperties")):
            found["key"] = self.value(values, depth + 1)
        return found

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        few = schema.get("minItems", 1 if depth < _MAX_DEPTH else 0)
        return [self.value(schema.get("items", {}), depth + 1) for _ in range(min(max(few, 0), 30))]

    def _integer(self, schema: Mapping[str, Any], _: int) -> int:
        low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
        return max(int(low), min(7, int(schema.get("maximum", 7))))

    def _number(self, schema: Mapping[str, Any], depth: int) -> float:
        return self._integer(schema, depth) + (0 if "multipleOf" in schema or "maximum" in schema else 0.5)

    def _boolean(self, *_: Any) -> bool:
        return True

    def _string(self, schema: Mapping[str, Any], _: int) -> str:
        if schema.get("contentEncoding") == "base64":
            return "AAECAw=="
        if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        low, high = schema.get("minLength", 0), schema.get("maxLength", 10**6)
        pattern = schema.get("pattern", "")
        texts = [text[:high] * (1 if len(text[:high]) >= low else low) for text in _TEXTS]
        return next((text for text in texts if _matches(pattern, text)), texts[1])


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:  # of another dialect
        return False
