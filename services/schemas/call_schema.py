"""A tool as the call schema of an agent runtime: OpenAI function (also in strict mode), Anthropic tool or MCP tool."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from egotools.calling.schema_kinds import kinds
from ontology.errors import InvalidArgumentError
from ontology.json_object import as_dict
from ontology.tool import Tool
from services.schemas.call_name import call_name
from services.schemas.input_schema import MAX_DESCRIPTION, input_schema, shortened
from services.schemas.source_schema import AcceptedSchema, accepted_schema
from services.schemas.strict_schema import StrictSchema, strict_schema

__all__ = ["SCHEMA_FORMATS", "CallSchema", "call_schema", "tool_schema", "tool_schema_json"]

_LOG = logging.getLogger(__name__)
_MAX_OPENAI_DESCRIPTION = 1_024


def tool_schema(tool: Tool, schema_format: str) -> dict[str, Any]:
    """The call schema of a tool.

    :param schema_format: ``openai``, ``openai_strict``, ``anthropic`` or ``mcp``.
    :raises InvalidArgumentError: for another format.
    """
    return _made(tool, schema_format).schema


class CallSchema(NamedTuple):
    """A call schema as one line of JSON, and what its reader should know: why it is not strict, or not there."""

    json: str
    notes: tuple[str, ...] = ()


def call_schema(tool: Tool, schema_format: str) -> CallSchema:
    """The call schema with its notes; both are empty for the format ``none``.

    A tool whose schema cannot be made has a note that says so and no schema: the other tools of an answer have theirs.

    :raises InvalidArgumentError: for an unknown format.
    """
    if schema_format == "none":
        return CallSchema("")
    try:
        made = _made(tool, schema_format)
        return CallSchema(_line(made.schema), made.notes)
    except InvalidArgumentError:
        raise
    except Exception as error:  # documents hold what nobody foresaw; RecursionError is one of these
        _LOG.warning("the %s schema of %s cannot be made: %s", schema_format, tool.id, type(error).__name__)
        note = f"The schema is left out: its source cannot be written in the format {schema_format} ({type(error).__name__})."
        return CallSchema("", (note,))


def tool_schema_json(tool: Tool, schema_format: str) -> str:
    """The call schema as one line of JSON; empty for the format ``none``."""
    return call_schema(tool, schema_format).json


def _line(schema: Mapping[str, Any]) -> str:
    line = json.dumps(schema, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return line.encode("utf-8", "replace").decode("utf-8")


class _Made(NamedTuple):
    """A call schema as JSON values, and its notes."""

    schema: dict[str, Any]
    notes: tuple[str, ...] = ()


def _made(tool: Tool, schema_format: str) -> _Made:
    make = _FORMATS.get(schema_format)
    if make is None:
        raise InvalidArgumentError(
            f"there is no schema format {schema_format!r}",
            subject="schema_format",
            remedy=f"Use one of {', '.join(SCHEMA_FORMATS)}",
        )
    return make(tool)


def _openai(tool: Tool) -> _Made:
    arguments, notes = _arguments(tool)
    return _Made({"type": "function", "function": {**_named(tool), "parameters": arguments}}, _sentences(notes))


def _openai_strict(tool: Tool) -> _Made:
    """The function in strict mode; as it is, with ``strict: false``, where strict mode is not possible."""
    arguments, alternatives = _arguments(tool)
    strict, reasons = strict_schema(arguments) if not alternatives else StrictSchema(None, alternatives)
    function = {**_named(tool), "parameters": arguments if strict is None else strict, "strict": strict is not None}
    notes = tuple(f"Strict mode is not possible. {reason}." for reason in reasons)
    return _Made({"type": "function", "function": function}, notes)


def _named(tool: Tool) -> dict[str, Any]:
    return {
        "name": call_name(tool),
        "description": shortened(tool.description or tool.title, _MAX_OPENAI_DESCRIPTION),
    }


def _anthropic(tool: Tool) -> _Made:
    arguments, notes = _arguments(tool, rename=True)
    return _Made(
        {
            "name": call_name(tool),
            "description": shortened(tool.description or tool.title, MAX_DESCRIPTION),
            "input_schema": arguments,
        },
        _sentences(notes),
    )


def _mcp(tool: Tool) -> _Made:
    inputs = as_dict(tool.input_schema) if tool.input_schema is not None else input_schema(tool.parameters)
    schema: dict[str, Any] = {
        "name": call_name(tool),
        "title": tool.title,
        "description": shortened(tool.description or tool.title, MAX_DESCRIPTION),
        "inputSchema": inputs if inputs.get("type") == "object" else {**inputs, "type": "object"},
    }
    outputs = as_dict(tool.output_schema) if tool.output_schema is not None else input_schema(tool.returns)
    if kinds(outputs, outputs) != frozenset(("object",)):
        return _Made(schema, ("outputSchema is left out: the answer is no object, and MCP describes objects only.",))
    if tool.output_schema is not None or tool.returns:
        schema["outputSchema"] = outputs if "type" in outputs else {**outputs, "type": "object"}
    return _Made(schema)


def _arguments(tool: Tool, *, rename: bool = False) -> AcceptedSchema:
    """The schema of the source; of a source without one, its parameters folded back."""
    if tool.input_schema is None:
        return AcceptedSchema(input_schema(tool.parameters, rename=rename))
    return accepted_schema(tool.input_schema, rename=rename)


def _sentences(notes: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{note}." for note in notes)


_FORMATS: Mapping[str, Callable[[Tool], _Made]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "mcp": _mcp,
    "openai_strict": _openai_strict,
}
SCHEMA_FORMATS = ("none", *_FORMATS)
"""The formats of call schemas; ``none`` leaves the schema out."""
