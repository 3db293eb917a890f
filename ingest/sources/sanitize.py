"""Sanitize the texts of a tool: limit their length, and replace characters that encoders, files or databases cannot store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ingest.sources.json_schema.schema_text import json_value, schema_text
from ontology.call_json import call_from_json, call_to_json
from ontology.json_object import JsonObject
from ontology.tool import Dependency, Parameter, Tool

__all__ = ["MAX_DESCRIPTION_CHARS", "MAX_NAME_CHARS", "printable", "sanitize_tool"]

MAX_DESCRIPTION_CHARS = 100_000
MAX_NAME_CHARS = 2_000

# Control characters, lone surrogates and the two non-characters: XML or UTF-8 does not allow them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_OTHER_TEXTS = ("location", "format", "example", "default", "pattern")
_PARAMETER_TEXTS = ("name", "type", "description", *_OTHER_TEXTS)


def sanitize_tool(tool: Tool) -> Tool:
    """Cut texts that are too long (listed in the tool's metadata ``cut``), and replace unprintable characters by U+FFFD."""
    cut: list[str] = []
    description = _text(tool.description, MAX_DESCRIPTION_CHARS, "description", cut)
    name = _text(tool.name, MAX_NAME_CHARS, "name", cut)
    parameters = _parameters(tool.parameters, "parameters", cut)
    returns = _parameters(tool.returns, "returns", cut)
    metadata = {printable(key): _value(value, f"metadata.{key}", cut) for key, value in tool.metadata.items()}
    if cut:
        before = metadata.get("cut")
        metadata["cut"] = [*(before if isinstance(before, list) else []), *cut]
    return replace(
        tool,
        id=_text(tool.id, MAX_NAME_CHARS, "id", cut),
        name=name,
        description=description,
        parameters=parameters,
        returns=returns,
        depends_on=tuple(map(_dependency, tool.depends_on)),
        metadata=metadata,
        input_schema=_schema(tool.input_schema),
        output_schema=_schema(tool.output_schema),
        call=None if tool.call is None else call_from_json(json_value(call_to_json(tool.call))),
    )


def _schema(schema: Mapping[str, Any] | None) -> JsonObject | None:
    return schema if schema is None or isinstance(schema, JsonObject) else JsonObject(schema_text(schema))


def _text(text: str, max_chars: int, field: str, cut: list[str]) -> str:
    if len(text) > max_chars:
        cut.append(f"{field}: {len(text)} characters, the first {max_chars} kept")
        text = text[:max_chars]
    return printable(text)


def printable(text: str) -> str:
    """Return the text with U+FFFD for each character that no file can hold."""
    return _UNPRINTABLE.sub("\ufffd", text) if _UNPRINTABLE.search(text) else text


def _parameters(parameters: tuple[Parameter, ...], field: str, cut: list[str]) -> tuple[Parameter, ...]:
    return tuple(_parameter(parameter, field, cut) for parameter in parameters)


def _parameter(parameter: Parameter, field: str, cut: list[str]) -> Parameter:
    texts = (getattr(parameter, key) for key in _PARAMETER_TEXTS)
    together = "".join((*texts, *parameter.enum))
    if len(together) <= MAX_NAME_CHARS and not _UNPRINTABLE.search(together):  # as nearly all are
        return parameter
    name = _text(parameter.name, MAX_NAME_CHARS, f"{field} name", cut)
    type_ = _text(parameter.type, MAX_DESCRIPTION_CHARS, f"{field}.{name} type", cut)
    description = _text(parameter.description, MAX_DESCRIPTION_CHARS, f"{field}.{name} description", cut)
    enum = tuple(_text(value, MAX_NAME_CHARS, f"{field}.{name} enum", cut) for value in parameter.enum)
    others: dict[str, Any] = {
        key: _text(getattr(parameter, key), MAX_NAME_CHARS, f"{field}.{name} {key}", cut) for key in _OTHER_TEXTS
    }
    return replace(parameter, name=name, type=type_, description=description, enum=enum, **others)


def _dependency(old: Dependency) -> Dependency:
    return replace(
        old,
        tool=_text(old.tool, MAX_NAME_CHARS, "", []),
        parameter=_text(old.parameter, MAX_NAME_CHARS, "", []),
        output=_text(old.output, MAX_NAME_CHARS, "", []),
        reason=_text(old.reason, MAX_NAME_CHARS, "", []),
    )


def _value(value: Any, field: str, cut: list[str]) -> Any:
    """Sanitize the texts of a JSON value; a type that JSON does not have (a date) becomes text."""
    if isinstance(value, str):
        return _text(value, MAX_DESCRIPTION_CHARS, field, cut)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {printable(str(key)): _value(inner, field, cut) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value(inner, field, cut) for inner in value]
    return str(value)
