"""Tidy a tool that a reader made: texts of bounded length that any encoder, file format and database can hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ontology.tool import Dependency, Parameter, Tool

__all__ = ["MAX_DESCRIPTION_CHARS", "MAX_NAME_CHARS", "tidy"]

MAX_DESCRIPTION_CHARS = 100_000
MAX_NAME_CHARS = 2_000

# Control characters, halves of surrogate pairs and the two non-characters: not in XML, not in UTF-8, not for people.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def tidy(tool: Tool) -> Tool:
    """The tool with over-long texts cut (said in its metadata under ``cut``) and unprintable characters replaced."""
    cut: list[str] = []
    description = _text(tool.description, MAX_DESCRIPTION_CHARS, "description", cut)
    name = _text(tool.name, MAX_NAME_CHARS, "name", cut)
    parameters = _parameters(tool.parameters, "parameters", cut)
    returns = _parameters(tool.returns, "returns", cut)
    metadata = {key: _value(value, f"metadata.{key}", cut) for key, value in tool.metadata.items()}
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
    )


def _text(text: str, most: int, field: str, cut: list[str]) -> str:
    if len(text) > most:
        cut.append(f"{field}: {len(text)} characters, the first {most} kept")
        text = text[:most]
    return _UNPRINTABLE.sub("\ufffd", text) if _UNPRINTABLE.search(text) else text


def _parameters(parameters: tuple[Parameter, ...], field: str, cut: list[str]) -> tuple[Parameter, ...]:
    return tuple(_parameter(parameter, field, cut) for parameter in parameters)


def _parameter(parameter: Parameter, field: str, cut: list[str]) -> Parameter:
    name = _text(parameter.name, MAX_NAME_CHARS, f"{field} name", cut)
    type_ = _text(parameter.type, MAX_DESCRIPTION_CHARS, f"{field}.{name} type", cut)
    description = _text(parameter.description, MAX_DESCRIPTION_CHARS, f"{field}.{name} description", cut)
    enum = tuple(_text(value, MAX_NAME_CHARS, f"{field}.{name} enum", cut) for value in parameter.enum)
    if (name, type_, description, enum) == (parameter.name, parameter.type, parameter.description, parameter.enum):
        return parameter
    return replace(parameter, name=name, type=type_, description=description, enum=enum)


def _dependency(need: Dependency) -> Dependency:
    return replace(
        need, tool=_text(need.tool, MAX_NAME_CHARS, "", []), reason=_text(need.reason, MAX_NAME_CHARS, "", [])
    )


def _value(value: Any, field: str, cut: list[str]) -> Any:
    """A JSON value with its texts tidied; what JSON has no form for (a date) becomes text."""
    if isinstance(value, str):
        return _text(value, MAX_DESCRIPTION_CHARS, field, cut)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _value(inner, field, cut) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value(inner, field, cut) for inner in value]
    return str(value)
