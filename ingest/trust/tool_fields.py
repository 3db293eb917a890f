"""The texts of a tool with their places: every string of it that can reach a model or a caller."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from ontology.json_object import JsonObject
from ontology.tool import Parameter, Tool

__all__ = ["FieldText", "Role", "tool_fields"]

Role: TypeAlias = Literal["name", "label", "prose", "value"]
"""A name of a tool or parameter; a title, or another text of the metadata; a description; a default, example or allowed value."""

# Written by egotools, or places and hashes.
_OWN_METADATA = frozenset(("format", "source", "method", "path", "cut", "overlay", "source_id"))
_NAMES = frozenset(("namespace", "owner"))  # of all tools of a source: what changes there is no change of a tool
_VALUES = frozenset(("default", "example", "examples", "enum", "const", "x-example", "x-examples"))
_LABELS = frozenset(("title", "summary"))
_PROSE = frozenset(("description",))


class FieldText(NamedTuple):
    """A text of a tool and its place in the tool's JSON form."""

    field: str
    text: str
    role: Role


def tool_fields(tool: Tool) -> Iterator[FieldText]:
    """Yield the texts of a tool, each text once: descriptions in a schema that are also those of a parameter come as the latter."""
    seen: set[str] = set()
    for each in _all_fields(tool):
        if each.text and each.text not in seen:
            seen.add(each.text)
            yield each


def _all_fields(tool: Tool) -> Iterator[FieldText]:
    yield FieldText("id", tool.id, "name")
    yield FieldText("name", tool.name, "name")
    yield FieldText("description", tool.description, "prose")
    for title, parameters in (("parameters", tool.parameters), ("returns", tool.returns)):
        for number, parameter in enumerate(parameters):
            yield from _parameter_fields(f"{title}[{number}]", parameter)
    for key, value in tool.metadata.items():
        if key not in _OWN_METADATA:
            yield from _walk(f"metadata.{key}", value, "name" if key in _NAMES else "label")
    for number, dependency in enumerate(tool.depends_on):
        yield FieldText(f"depends_on[{number}].reason", dependency.reason, "label")
    for title, schema in (("input_schema", tool.input_schema), ("output_schema", tool.output_schema)):
        if isinstance(schema, JsonObject):
            for name, definition in schema.definitions:
                place = f"{title}.$defs.{name}"
                yield from (each._replace(field=f"{place}{each.field}") for each in _schema_fields(definition))
            yield from (each._replace(field=f"{title}{each.field}") for each in _schema_fields(schema.own_text))
        elif schema is not None:
            yield from _walk(title, schema, "label")


def _parameter_fields(place: str, parameter: Parameter) -> Iterator[FieldText]:
    yield FieldText(f"{place}.name", parameter.name, "name")
    yield FieldText(f"{place}.type", parameter.type, "name")
    yield FieldText(f"{place}.description", parameter.description, "prose")
    for key in ("default", "example"):
        yield FieldText(f"{place}.{key}", getattr(parameter, key), "value")
    for number, value in enumerate(parameter.enum):
        yield FieldText(f"{place}.enum[{number}]", value, "value")


@lru_cache(maxsize=1 << 14)
def _schema_fields(text: str) -> tuple[FieldText, ...]:
    """The texts of a JSON Schema, each once; definitions that many schemas have are read once."""
    return tuple({each.text: each for each in _walk("", json.loads(text), "label")}.values())


def _walk(place: str, value: Any, role: Role) -> Iterator[FieldText]:
    """Yield the strings of a JSON value, and its keys where these are names of properties."""
    if isinstance(value, str):
        yield FieldText(place, value, role)
    elif isinstance(value, (Mapping, JsonObject)):
        for key, inner in value.items():
            if len(key) > _LONG_KEY or not key.isascii():
                yield FieldText(f"{place}.{key}", key, "name")
            if key == "properties" and isinstance(inner, Mapping):
                for name, schema in inner.items():
                    yield FieldText(f"{place}.properties.{name}", name, "name")
                    yield from _walk(f"{place}.properties.{name}", schema, role)
            else:
                yield from _walk(f"{place}.{key}", inner, _role(key, role))
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            yield from _walk(f"{place}[{number}]", inner, role)


_LONG_KEY = 60  # chosen, not tuned: a key that long is a text


def _role(key: str, role: Role) -> Role:
    if key in _VALUES or role == "value":
        return "value"
    return "prose" if key in _PROSE else "label" if key in _LABELS else role
