"""What was read of a document, as bytes: equal parameters are written once, and schemas as the texts that they are."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import astuple, fields
from typing import Any

from ingest.sources.document import Document
from ingest.sources.naming import DocumentRead
from ingest.sources.source import RejectedRecord
from ontology.call_json import call_from_json, call_to_json
from ontology.errors import DocumentError
from ontology.json_object import JsonObject, canonical_text
from ontology.tool import Dependency, Parameter, Tool

__all__ = ["read_from_bytes", "read_to_bytes"]

_FAST = 1  # the level of zlib; a higher one makes the bytes a tenth smaller and takes several times as long
_PARAMETER = tuple(each.name for each in fields(Parameter))
_DEPENDENCY = tuple(each.name for each in fields(Dependency))


def read_to_bytes(read: DocumentRead) -> bytes:
    """The bytes of what was read, without the time that it took."""
    parameters: dict[str, int] = {}
    definitions: dict[str, int] = {}
    rows = [_row(tool, parameters, definitions) for tool in read.tools]
    entry = {
        "format": read.format,
        "keeps_ids": read.keeps_ids,
        "secrets": read.secrets,
        "rejected": [astuple(record) for record in read.rejected],
        "parameters": list(parameters),
        "definitions": list(definitions),
        "tools": rows,
    }
    return zlib.compress(json.dumps(entry, ensure_ascii=False).encode("utf-8", "surrogatepass"), _FAST)


def read_from_bytes(stored: bytes, document: Document) -> DocumentRead:
    """What was read of a document.

    :raises ValueError: for bytes that :func:`read_to_bytes` did not write.
    """
    try:
        entry = json.loads(zlib.decompress(stored).decode("utf-8", "surrogatepass"))
        parameters = [_parameter(json.loads(text)) for text in entry["parameters"]]
        return DocumentRead(
            document=document,
            format=entry["format"],
            keeps_ids=entry["keeps_ids"],
            secrets=entry["secrets"],
            rejected=[RejectedRecord(*record) for record in entry["rejected"]],
            tools=[_tool(row, parameters, entry["definitions"]) for row in entry["tools"]],
        )
    except (zlib.error, KeyError, IndexError, TypeError, AttributeError, DocumentError) as error:
        raise ValueError("the stored tools are damaged") from error


def _row(tool: Tool, parameters: dict[str, int], definitions: dict[str, int]) -> dict[str, Any]:
    return {
        "id": tool.id,
        "name": tool.name,
        "description": tool.description,
        "parameters": [_number(parameter, parameters) for parameter in tool.parameters],
        "returns": [_number(parameter, parameters) for parameter in tool.returns],
        "depends_on": [[getattr(dependency, key) for key in _DEPENDENCY] for dependency in tool.depends_on],
        "metadata": dict(tool.metadata),
        "input_schema": _schema_row(tool.input_schema, definitions),
        "output_schema": _schema_row(tool.output_schema, definitions),
        "call": None if tool.call is None else call_to_json(tool.call),
    }


def _number(parameter: Parameter, numbers: dict[str, int]) -> int:
    """The number of a parameter. Equal ones share it; by their text, because 1 and 1.0 are equal, but not as text."""
    text = json.dumps([getattr(parameter, key) for key in _PARAMETER], ensure_ascii=False)
    return numbers.setdefault(text, len(numbers))


def _schema_row(schema: Mapping[str, Any] | None, definitions: dict[str, int]) -> list[Any] | None:
    """The text of a schema, and the number of each of its definitions, by name."""
    if not isinstance(schema, JsonObject):
        return None if schema is None else [canonical_text(schema), {}]
    return [
        schema.own_text,
        {name: definitions.setdefault(text, len(definitions)) for name, text in schema.definitions},
    ]


def _schema(row: list[Any] | None, definitions: list[str]) -> JsonObject | None:
    if row is None:
        return None
    own, numbers = row
    return JsonObject(own, {name: definitions[number] for name, number in numbers.items()})


def _tool(row: Mapping[str, Any], parameters: list[Parameter], definitions: list[str]) -> Tool:
    return Tool(
        id=row["id"],
        name=row["name"],
        description=row["description"],
        parameters=tuple(parameters[number] for number in row["parameters"]),
        returns=tuple(parameters[number] for number in row["returns"]),
        depends_on=tuple(Dependency(**dict(zip(_DEPENDENCY, each, strict=True))) for each in row["depends_on"]),
        metadata=row["metadata"],
        call=None if row["call"] is None else call_from_json(row["call"]),
        input_schema=_schema(row["input_schema"], definitions),
        output_schema=_schema(row["output_schema"], definitions),
    )


def _parameter(values: list[Any]) -> Parameter:
    stated = dict(zip(_PARAMETER, values, strict=True))
    stated["enum"] = tuple(stated["enum"])
    stated["bounds"] = tuple((keyword, bound) for keyword, bound in stated["bounds"])
    return Parameter(**stated)
