"""The source ``function.v1``: function definitions of chat models (OpenAI nested and flat, Anthropic, LangChain, Gemini, Bedrock)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ingest.sources.document import Document, parse_json
from ingest.sources.operation import Operation, Output, Schemas
from ingest.sources.prose import plain
from ingest.sources.source import RejectedRecord, Source, as_mapping, as_text, listed_rows, sampled_rows
from ontology.errors import DocumentError
from ontology.tool import Tool

_INPUTS = ("parameters", "input_schema", "args_schema", "inputSchema")
_OUTPUTS = ("returns", "output_schema", "outputSchema", "response", "responses")
_KEYS = frozenset({"name", "description", "type", "function", "args", "metadata", "strict", *_INPUTS, *_OUTPUTS})
_NOTHING: Mapping[str, Any] = {"type": "object"}


class FunctionSource(Source):
    """JSON, YAML and JSONL lists of function definitions."""

    name = "function.v1"

    def accepts(self, document: Document) -> bool:
        """Whether one of the first definitions describes its inputs by a JSON Schema."""
        return any(isinstance(row, Mapping) and _is_definition(row) for row in sampled_rows(document))

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield one tool for each definition; an invalid one is rejected with its line (in a JSON list: its index)."""
        for location, row in listed_rows(document):
            yield from _tool(location, row)


def _is_definition(row: Mapping[str, Any]) -> bool:
    body = _body(row)
    if isinstance(body.get("parameters"), list):  # a row of egotools' own tables, which may have schemas beside them
        return False
    if any(isinstance(body.get(key), Mapping) for key in _INPUTS if key != "inputSchema" or "toolSpec" in row):
        return True
    if isinstance(body.get("args"), Mapping) or as_text(body.get("args_schema")).lstrip().startswith("{"):
        return True
    return row.get("type") == "function" and "name" in body


def _body(row: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("function", "toolSpec"):
        if isinstance(row.get(key), Mapping):
            return {**{k: v for k, v in row.items() if k != key}, **row[key]}
    return row


def _tool(location: str, row: Any) -> Iterator[Tool | RejectedRecord]:
    """Yield the tool of a definition. One whose answer cannot be read has no outputs, and a record says so."""
    if isinstance(row, RejectedRecord):
        yield row
        return
    if not isinstance(row, Mapping):
        yield RejectedRecord(location, "wrong-type", "A function definition must be an object.")
        return
    body = _body(row)
    name = as_text(body.get("name")).strip()
    if not name:
        yield RejectedRecord(location, "no-name", "The function has no name; give it one.")
        return
    for item in Schemas().tools(location, partial(_operation, name, body)):
        yield replace(item, detail=f"{name}: {item.detail}") if isinstance(item, RejectedRecord) else item


def _operation(name: str, body: Mapping[str, Any]) -> Operation:
    args = body.get("args")
    if isinstance(args, Mapping):  # LangChain's tool.args: the fields alone, with defaults where they are optional
        required = [name for name, field in args.items() if isinstance(field, Mapping) and "default" not in field]
        inputs: Mapping[str, Any] = {"type": "object", "properties": dict(args), "required": required}
    else:
        inputs = _schema(body, _INPUTS)
        inputs = inputs["json"] if isinstance(inputs.get("json"), Mapping) and "properties" not in inputs else inputs
    output: Output | Exception | None
    try:
        schema = _schema(body, _OUTPUTS)
        output = Output(schema) if schema != _NOTHING else None
    except DocumentError as error:
        output = error
    metadata = dict(as_mapping(body.get("metadata")))
    for key, value in body.items():
        if key not in _KEYS and isinstance(value, (str, int, float, list)) and value != "":
            metadata.setdefault(key, value)
    description = plain(as_text(body.get("description")))
    return Operation(id=name, description=description, inputs=inputs, output=output, metadata=metadata)


def _schema(body: Mapping[str, Any], keys: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the first schema of the body under one of the keys; some exports write it as JSON in a string."""
    for key in keys:
        value = body.get(key)
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value = parse_json(value, subject=key)
        if isinstance(value, Mapping):
            return value
        if value is not None and key in _INPUTS:
            problem = f"{key} must be a JSON Schema, not {type(value).__name__}"
            raise DocumentError(problem, subject=key, reason="wrong-type")
    return _NOTHING
