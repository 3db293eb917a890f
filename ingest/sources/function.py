"""Function definitions as chat models take them: OpenAI (nested and flat), Anthropic, LangChain, Gemini and Bedrock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.sources.document import Document
from ingest.sources.json_schema.schema import flatten
from ingest.sources.parsing import parse_json
from ingest.sources.prose import plain
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError
from ontology.tool import Tool

__all__ = ["FunctionSource"]

_LINES = frozenset({".jsonl", ".ndjson"})
_DOCUMENTS = frozenset({".json", ".yaml", ".yml", ""})
_LISTS = ("tools", "functions", "function_declarations", "functionDeclarations")
_INPUTS = ("parameters", "input_schema", "args_schema", "inputSchema")
_OUTPUTS = ("returns", "output_schema", "outputSchema", "response", "responses")
_OWN = frozenset({"name", "description", "type", "function", "args", "metadata", "strict", *_INPUTS, *_OUTPUTS})
_PEEKED = 20


class FunctionSource:
    """JSON, YAML and JSONL lists of function definitions."""

    name = "function.v1"

    def accepts(self, document: Document) -> bool:
        """Whether one of the first definitions describes its inputs by a JSON Schema."""
        if not document.has_content:
            return False
        try:
            if document.suffix in _LINES:
                rows = [row for _, row in _json_lines(document, _PEEKED)]
            elif document.suffix in _DOCUMENTS:
                rows = _listed(document.data)[:_PEEKED]
            else:
                return False
        except DocumentError:
            return False
        return any(isinstance(row, Mapping) and _is_definition(row) for row in rows)

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Read the definitions; a bad one is rejected with its line (its index, in a JSON list)."""
        rows = (
            _json_lines(document, None)
            if document.suffix in _LINES
            else ((f"{document.address}#{index}", row) for index, row in enumerate(_listed(document.data), 1))
        )
        for place, row in rows:
            yield row if isinstance(row, RejectedRecord) else _tool(place, row)


def _json_lines(document: Document, most: int | None) -> Iterator[tuple[str, Any]]:
    count = 0
    for number, line in document.lines():
        if not line.strip():
            continue
        place = f"{document.address}:{number}"
        try:
            rows = _listed(parse_json(line, subject=document.address, line=number))
        except DocumentError as error:
            rows = [RejectedRecord(subject=place, reason="invalid-json", detail=f"{error.problem}.")]
        for row in rows:
            yield place, row
        count += 1
        if count == most:
            return


def _listed(data: Any) -> list[Any]:
    """The definitions of a document: a list, an object that holds one, or a single definition."""
    if isinstance(data, Mapping):
        for key in _LISTS:
            if isinstance(data.get(key), list):
                return _listed(data[key])
        return [data]
    if not isinstance(data, list):
        return []
    rows: list[Any] = []
    for row in data:  # Gemini groups its declarations
        grouped = isinstance(row, Mapping) and any(isinstance(row.get(key), list) for key in _LISTS)
        rows += _listed(row) if grouped else [row]
    return rows


def _is_definition(row: Mapping[str, Any]) -> bool:
    body = _body(row)
    if any(isinstance(body.get(key), Mapping) for key in _INPUTS if key != "inputSchema" or "toolSpec" in row):
        return True
    return isinstance(body.get("args"), Mapping) or (row.get("type") == "function" and "name" in body)


def _body(row: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("function", "toolSpec"):
        if isinstance(row.get(key), Mapping):
            return {**{k: v for k, v in row.items() if k != key}, **row[key]}
    return row


def _tool(place: str, row: Any) -> Tool | RejectedRecord:
    if not isinstance(row, Mapping):
        return RejectedRecord(subject=place, reason="wrong-type", detail="A function definition must be an object.")
    body = _body(row)
    name = body.get("name")
    if not isinstance(name, str) or not name.strip():
        return RejectedRecord(subject=place, reason="no-name", detail="The function has no name; give it one.")
    try:
        inputs = flatten(_input_schema(body))
        outputs = flatten(_schema(body, _OUTPUTS), output=True)
    except DocumentError as error:
        reason = "dangling-ref" if error.problem.startswith("the reference") else "wrong-type"
        return RejectedRecord(subject=place, reason=reason, detail=f"{name}: {error.problem}.")
    metadata: dict[str, Any] = dict(body["metadata"]) if isinstance(body.get("metadata"), Mapping) else {}
    for key, value in body.items():
        if key not in _OWN and isinstance(value, (str, int, float, list)) and value != "":
            metadata.setdefault(key, value)
    if inputs.cut or outputs.cut:
        metadata["cut"] = ["only the first fields of a large or deep schema are kept"]
    description = body.get("description")
    return Tool(
        id=name.strip(),
        name=name.strip(),
        description=plain(description) if isinstance(description, str) else "",
        parameters=inputs.parameters,
        returns=outputs.parameters,
        metadata=metadata,
    )


def _input_schema(body: Mapping[str, Any]) -> Mapping[str, Any]:
    args = body.get("args")
    if isinstance(args, Mapping):  # LangChain's tool.args: the fields alone, with defaults where they are optional
        needed = [name for name, field in args.items() if isinstance(field, Mapping) and "default" not in field]
        return {"type": "object", "properties": dict(args), "required": needed}
    schema = _schema(body, _INPUTS)
    return schema["json"] if isinstance(schema.get("json"), Mapping) and "properties" not in schema else schema


def _schema(body: Mapping[str, Any], keys: tuple[str, ...]) -> Mapping[str, Any]:
    """The first schema that the body has under one of the keys; some exports write it as a string of JSON.

    :raises DocumentError: when what stands there is no schema.
    """
    for key in keys:
        value = body.get(key)
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value = parse_json(value, subject=key)
        if isinstance(value, Mapping):
            return value
        if value is not None and key in _INPUTS:
            raise DocumentError(f"{key} must be a JSON Schema, not {type(value).__name__}", subject=key)
    return {"type": "object"}
