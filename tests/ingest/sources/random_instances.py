"""Random values for a JSON Schema of an OpenAPI 3.0 document, valid ones and ones with a fault; and a validator of that dialect."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.validators import extend
from referencing import Registry, Specification

_WRONG: tuple[Any, ...] = (None, "text", "", 7, -1, 10**6, 2.5, True, [], {}, ["x"], [1], {"a": 1})


def original_validator(document: Mapping[str, Any]) -> Any:
    """A validator of the document's schemas, whose references are absolute (``urn:document#/…``), with ``nullable``."""
    types = Draft202012Validator.VALIDATORS["type"]

    def type_(validator: Any, allowed: Any, value: Any, schema: Any) -> Any:
        return () if value is None and schema.get("nullable") is True else types(validator, allowed, value, schema)

    def bound(keyword: str) -> Any:
        own = Draft202012Validator.VALIDATORS[keyword]
        return lambda validator, limit, value, schema: own(validator, json.loads(str(limit)), value, schema)

    keywords = {"type": type_, "minimum": bound("minimum"), "maximum": bound("maximum")}
    data = json.loads(json.dumps(document).replace('"$ref": "#/', '"$ref": "urn:document#/'))
    resource = Specification.OPAQUE.create_resource(data)
    extended: Any = extend(Draft202012Validator, keywords)  # type: ignore[no-untyped-call]
    return extended({}, registry=Registry().with_resource("urn:document", resource))


def instances(schema: Any, document: Mapping[str, Any], randomness: random.Random, *, count: int) -> Iterator[Any]:
    """Yield values that the schema describes, and the same with one fault."""
    for _ in range(count // 2):
        value = _value(schema, document, randomness, 0)
        yield value
        yield _with_fault(value, randomness)


def _value(schema: Any, document: Mapping[str, Any], randomness: random.Random, depth: int) -> Any:
    schema = _resolved(schema, document)
    for key in ("oneOf", "anyOf", "allOf"):
        if schema.get(key):
            return _value(randomness.choice(schema[key]), document, randomness, depth + 1)
    if schema.get("enum"):
        return randomness.choice(schema["enum"])
    type_ = schema.get("type")
    if type_ == "object" or "properties" in schema:
        wanted = schema.get("required", []) if depth > 4 else None
        fields = {
            name: _value(inner, document, randomness, depth + 1)
            for name, inner in schema.get("properties", {}).items()
            if (wanted is None and randomness.random() < 0.3) or name in schema.get("required", ())
        }
        if isinstance(schema.get("additionalProperties"), Mapping):
            fields["any name"] = _value(schema["additionalProperties"], document, randomness, depth + 1)
        return fields
    if type_ == "array":
        return [
            _value(schema.get("items", {}), document, randomness, depth + 1) for _ in range(randomness.randrange(3))
        ]
    low = int(json.loads(str(schema.get("minimum", 0))))
    return {"integer": low + 1, "number": low + 0.5, "boolean": True, "string": "text"}.get(str(type_), {"any": 1})


def _with_fault(value: Any, randomness: random.Random) -> Any:
    """The value with one part, at any depth, replaced by a value of any kind."""
    if isinstance(value, dict) and value and randomness.random() < 0.7:
        name = randomness.choice(sorted(value))
        if randomness.random() < 0.2:
            return {key: inner for key, inner in value.items() if key != name}
        return {**value, name: _with_fault(value[name], randomness)}
    if isinstance(value, list) and value and randomness.random() < 0.7:
        return [_with_fault(value[0], randomness), *value[1:]]
    return randomness.choice(_WRONG)


def _resolved(schema: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    while isinstance(schema, Mapping) and "$ref" in schema:
        found: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        schema = found
    return schema if isinstance(schema, Mapping) else {}
