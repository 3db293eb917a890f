"""A tool as the call schema of an agent runtime: OpenAI function, Anthropic tool or MCP tool."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from ontology.errors import InvalidArgumentError
from ontology.tool import Tool
from services.schemas.input_schema import MAX_DESCRIPTION, input_schema, shortened
from services.schemas.source_schema import accepted_schema

__all__ = ["SCHEMA_FORMATS", "call_name", "tool_schema", "tool_schema_json"]

_MAX_NAME = 64
_HASH_DIGITS = 8
_MAX_OPENAI_DESCRIPTION = 1_024
_LEGAL_NAME = re.compile(r"^[a-zA-Z0-9_-]+\Z")
_ILLEGAL_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_SEPARATOR = "__"


def tool_schema(tool: Tool, schema_format: str) -> dict[str, Any]:
    """The call schema of a tool.

    :param schema_format: ``openai``, ``anthropic`` or ``mcp``.
    :raises InvalidArgumentError: for another format.
    """
    make = _FORMATS.get(schema_format)
    if make is None:
        raise InvalidArgumentError(
            f"there is no schema format {schema_format!r}",
            subject="schema_format",
            remedy=f"Use one of {', '.join(SCHEMA_FORMATS)}",
        )
    return make(tool)


def tool_schema_json(tool: Tool, schema_format: str) -> str:
    """The call schema as one line of JSON; empty for the format ``none``."""
    if schema_format == "none":
        return ""
    line = json.dumps(tool_schema(tool, schema_format), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return line.encode("utf-8", "replace").decode("utf-8")


def call_name(tool: Tool) -> str:
    """The name by which a model calls the tool: 1 to 64 characters of ``a-z A-Z 0-9 _ -``, different for different ids.

    It depends on the tool alone, so it is the same in every response. A legal id is its own name. ``namespace/name``
    becomes ``namespace__name``. Otherwise the name of the tool is made legal, with eight hex digits of the hash of the
    id.
    """
    parts = tool.id.split("/")
    joined = _SEPARATOR.join(parts)
    id_has_name = tool.id == tool.name or tool.id.endswith("/" + tool.name)
    # Parts that contain the separator could give two ids one name: "a/b" and "a__b".
    unambiguous = all(_is_plain(part) and part.strip("_") == part for part in parts)
    if id_has_name and len(joined) <= _MAX_NAME and (unambiguous or (len(parts) == 1 and _is_plain(tool.id))):
        return joined
    digest = hashlib.sha256(tool.id.encode("utf-8", "replace")).hexdigest()[:_HASH_DIGITS]
    stem = _ILLEGAL_IN_NAME.sub("_", tool.name).strip("_")[: _MAX_NAME - _HASH_DIGITS - 1]
    return f"{stem or 'tool'}_{digest}"


def _is_plain(name: str) -> bool:
    return _LEGAL_NAME.match(name) is not None and _SEPARATOR not in name


def _openai(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": call_name(tool),
            "description": shortened(tool.description or tool.title, _MAX_OPENAI_DESCRIPTION),
            "parameters": _arguments(tool),
        },
    }


def _anthropic(tool: Tool) -> dict[str, Any]:
    return {
        "name": call_name(tool),
        "description": shortened(tool.description or tool.title, MAX_DESCRIPTION),
        "input_schema": _arguments(tool, rename=True),
    }


def _mcp(tool: Tool) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "name": call_name(tool),
        "title": tool.title,
        "description": shortened(tool.description or tool.title, MAX_DESCRIPTION),
        "inputSchema": dict(tool.input_schema) if tool.input_schema is not None else input_schema(tool.parameters),
    }
    if tool.output_schema is not None:
        schema["outputSchema"] = dict(tool.output_schema)
    elif tool.returns:
        schema["outputSchema"] = input_schema(tool.returns)
    return schema


def _arguments(tool: Tool, *, rename: bool = False) -> dict[str, Any]:
    """The schema of the source; of a source without one, its parameters folded back."""
    if tool.input_schema is None:
        return input_schema(tool.parameters, rename=rename)
    return accepted_schema(tool.input_schema, rename=rename)


_FORMATS: Mapping[str, Callable[[Tool], dict[str, Any]]] = {"openai": _openai, "anthropic": _anthropic, "mcp": _mcp}
SCHEMA_FORMATS = ("none", *_FORMATS)
"""The formats of call schemas; ``none`` leaves the schema out."""
