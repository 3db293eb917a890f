"""The source ``table.v1``: tables of tools as JSONL, CSV, TSV and JSON lists.

A row has ``title`` or ``name``, and ``description`` or ``parameters`` (name, description, type, enum), optionally ``returns`` and
``depends_on``; every other column (``line_of_business``, ``department``, …) is metadata. An ``id`` in a row is not changed. A row with a
name and nothing else of a tool is rejected; a table of such rows is rejected once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from ingest.sources.document import Document
from ingest.sources.json_values import as_list
from ingest.sources.rows import DATA_SUFFIXES, LINE_SUFFIXES, Row, json_lines
from ingest.sources.source import RejectedRecord, Source
from ingest.sources.table.cells import enum_of_type
from ingest.sources.table.csv_rows import csv_rows
from ingest.sources.table.tool_row import why_no_tool
from ontology.errors import DocumentError
from ontology.tool import Tool

__all__ = ["TableSource"]

_TOOL_KEYS = frozenset({"name", "title", "description", "parameters"})
_COLUMNS = frozenset({"id", "name", "title", "description", "parameters", "returns", "depends_on", "metadata"})
_OBJECTS = frozenset({"input_schema", "output_schema", "call"})
_SYNONYMS = {"inputs": "parameters", "outputs": "returns"}
_CSV = frozenset({".csv", ".tsv"})
_SAMPLED = 20
_JSON_TYPES = {dict: "an object", list: "a list", str: "text", bool: "a boolean", int: "a number", float: "a number"}


class TableSource(Source):
    """JSONL, CSV, TSV and JSON lists of tools in the format of egotools."""

    name = "table.v1"
    #: Ids in rows are the user's and get no namespace.
    keeps_ids = True

    def accepts(self, document: Document) -> bool:
        """Whether one of the first rows has a column of a tool."""
        if not document.has_content:
            return False
        try:
            if document.suffix in _CSV:
                return _is_header(document.head.split("\n", 1)[0])
            if document.suffix in LINE_SUFFIXES:
                return _looks_like_rows([row.value for row in islice(json_lines(document), _SAMPLED)])
        except DocumentError:
            return False
        # Many configuration files have a name, so one JSON or YAML object needs another column of a tool too.
        rows = _items(document.data_or_none)[:_SAMPLED] if document.suffix in DATA_SUFFIXES else []
        return _looks_like_rows(
            [row for row in rows if not isinstance(row, Mapping) or len(rows) > 1 or _describes(row)]
        )

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield one tool for each row; an invalid row is rejected with its line (in a JSON list: its index)."""
        alone = document.suffix in DATA_SUFFIXES and _is_one_object(document.data)
        seen: dict[str, str] = {}
        others: list[RejectedRecord] = []  # rows with a name that are no tools, until the first tool
        for location, value in _rows(document):
            item = (
                value if isinstance(value, RejectedRecord) else _tool(location, value, document.namespace, alone=alone)
            )
            if isinstance(item, Tool):
                yield from others if not seen else ()
                first = seen.setdefault(item.id, location)
                if first is not location:
                    detail = f"The id {item.id!r} is already taken at {first}."
                    item = RejectedRecord(location, "duplicate-id", detail)
            elif item.reason == "not-a-tool" and not seen:
                others.append(item)
                continue
            yield item
        if others and not seen:
            more = f" So it is with {len(others):,} rows, and none is a tool." if len(others) > 1 else ""
            yield replace(others[0], subject=document.address, detail=f"{others[0].detail}{more}")


def _rows(document: Document) -> Iterator[Row]:
    if document.suffix in _CSV:
        return csv_rows(document)
    if document.suffix in LINE_SUFFIXES:
        return json_lines(document)
    return (Row(f"{document.address}#{index}", row) for index, row in enumerate(_items(document.data), 1))


def _items(data: Any) -> list[Any]:
    """Return the rows of a JSON document: a list, ``{"tools": [...]}``, or one tool."""
    if _is_one_object(data):
        return [data]
    return as_list(data["tools"] if isinstance(data, Mapping) else data)


def _is_one_object(data: Any) -> bool:
    return isinstance(data, Mapping) and not isinstance(data.get("tools"), list)


def _looks_like_rows(rows: Sequence[Any]) -> bool:
    """Whether one row looks like a tool, or all rows are damaged (the reader then rejects each of them)."""
    mappings = [row for row in rows if isinstance(row, Mapping)]
    if not mappings:
        return bool(rows) and all(row is None or isinstance(row, RejectedRecord) for row in rows)
    return any(
        _TOOL_KEYS & row.keys() and isinstance(row.get("parameters", []), (list, str, type(None))) for row in mappings
    )


def _describes(row: Mapping[str, Any]) -> bool:
    return bool({"description", "parameters", "inputs"} & row.keys())


def _is_header(line: str) -> bool:
    cells = {cell.strip(" \"'\r").casefold() for cell in line.replace(";", ",").replace("\t", ",").split(",")}
    return bool({"name", "title"} & cells)


def _tool(location: str, row: Any, namespace: str, *, alone: bool) -> Tool | RejectedRecord:
    try:
        tool = Tool.from_json(_split_metadata(row))
    except DocumentError as error:
        field = f"{error.subject}: " if error.subject not in {"", "name", "row"} else ""
        remedy = f" {error.remedy}." if error.remedy else ""
        return RejectedRecord(location, error.reason, f"{field}{error.problem}.{remedy}")
    if why := why_no_tool(row, alone=alone):
        return RejectedRecord(location, "not-a-tool", f"The row {tool.name!r} {why}.")
    given = row.get("id")
    if isinstance(given, str) and given.strip():
        tool = replace(tool, id=given) if given != tool.id else tool  # unchanged, because other tools refer to it
    elif not given:
        tool = replace(tool, id=f"{namespace}/{tool.name}" if namespace else tool.name)
    if any(_may_hold_enum(parameter.type) for parameter in (*tool.parameters, *tool.returns)):
        tool = replace(
            tool, parameters=tuple(map(enum_of_type, tool.parameters)), returns=tuple(map(enum_of_type, tool.returns))
        )
    return tool


def _split_metadata(row: Any) -> dict[str, Any]:
    """Return the row with its unknown columns moved to ``metadata``.

    :raises DocumentError: when a value has the wrong type; the subject is its column.
    """
    if not isinstance(row, Mapping):
        raise _wrong_type(f"a tool must be an object, not {_json_type(row)}", "row")
    own: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in row.items():
        column = _SYNONYMS.get(str(key), str(key))
        is_own = column in _COLUMNS or (column in _OBJECTS and isinstance(value, Mapping))
        (own if is_own else extra)[column] = value
    for column in ("id", "name", "title", "description"):
        if isinstance(own.get(column), (dict, list)):
            raise _wrong_type(f"{column} must be text, not {_json_type(own[column])}", column)
    if isinstance(own.get("returns"), list):
        own["returns"] = [_named_output(output) for output in own["returns"]]
    if extra:
        metadata = own.get("metadata") or {}
        if not isinstance(metadata, Mapping):
            raise _wrong_type("metadata must be an object", "metadata")
        own["metadata"] = {**extra, **metadata}
    return own


def _named_output(output: Any) -> Any:
    """Return the output with the name ``result`` when it has none, like the return value of a function."""
    if isinstance(output, Mapping) and not str(output.get("name") or "").strip():
        return {**output, "name": "result"}
    return output


def _may_hold_enum(type_: str) -> bool:
    return type_.endswith(("]", ")", "}")) and ("num" in type_.lower() or "iteral" in type_)


def _wrong_type(problem: str, column: str) -> DocumentError:
    return DocumentError(problem, subject=column, reason="wrong-type")


def _json_type(value: Any) -> str:
    """Return the JSON name of a value's type."""
    return "null" if value is None else _JSON_TYPES.get(type(value), type(value).__name__)
