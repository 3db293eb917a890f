"""Tables of tools: JSONL, CSV and JSON lists in the paper's form.

A row has ``title`` or ``name``, ``description``, ``parameters`` (name, description, type, enum), perhaps ``returns`` and
``depends_on``; every other column (``line_of_business``, ``department``, …) is metadata. An ``id`` given by a row is kept as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ingest.sources.document import Document
from ingest.sources.parsing import parse_json
from ingest.sources.source import RejectedRecord
from ingest.sources.table.cells import enum_of_type
from ingest.sources.table.csv_rows import csv_rows
from ontology.errors import DocumentError
from ontology.tool import Tool

__all__ = ["TableSource"]

_SIGNS = frozenset({"name", "title", "description", "parameters"})
_COLUMNS = frozenset({"id", "name", "title", "description", "parameters", "returns", "depends_on", "metadata"})
_SYNONYMS = {"inputs": "parameters", "outputs": "returns"}
_LINES = frozenset({".jsonl", ".ndjson"})
_CSV = frozenset({".csv", ".tsv"})


class TableSource:
    """JSONL, CSV, TSV and JSON lists of tools in egotools' own form."""

    name = "table.v1"
    #: Ids that a row gives are the user's own and are kept without a namespace.
    keeps_ids = True

    def accepts(self, document: Document) -> bool:
        """Whether the first row has a column that a tool has."""
        if not document.has_content:
            return False
        try:
            if document.suffix in _CSV:
                return _is_header(document.head.split("\n", 1)[0])
            if document.suffix in _LINES:
                return _looks_like_rows(_first_rows(document))
            if document.suffix in {".json", ".yaml", ".yml", ""}:
                # Many a configuration has a name; a file that is not a table by its ending must say more.
                return _looks_like_rows([row for row in _listed(document.data)[:20] if _says_what_it_does(row)])
        except DocumentError:
            return False
        return False

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Read the rows; a bad row is rejected with its line (its index, in a JSON list) and the others are kept."""
        seen: dict[str, str] = {}
        for place, row in _rows(document):
            item = row if isinstance(row, RejectedRecord) else _tool(place, row, document.namespace)
            if isinstance(item, Tool):
                first = seen.setdefault(item.id, place)
                if first is not place:
                    item = RejectedRecord(
                        subject=place, reason="duplicate-id", detail=f"The id {item.id!r} is already taken at {first}."
                    )
            yield item


def _rows(document: Document) -> Iterator[tuple[str, Any]]:
    if document.suffix in _CSV:
        return csv_rows(document)
    if document.suffix in _LINES:
        return _json_lines(document)
    return ((f"{document.address}#{index}", row) for index, row in enumerate(_listed(document.data), 1))


def _json_lines(document: Document) -> Iterator[tuple[str, Any]]:
    empty = True
    for number, line in document.lines():
        if not line.strip():
            continue
        empty = False
        place = f"{document.address}:{number}"
        try:
            yield place, parse_json(line, subject=document.address, line=number)
        except DocumentError as error:
            reason = "not-utf8" if error.problem.startswith("not UTF-8") else "invalid-json"
            yield place, RejectedRecord(subject=place, reason=reason, detail=f"{error.problem}.")
    if empty:
        raise DocumentError("the file is empty", subject=document.address)


def _listed(data: Any) -> list[Any]:
    """The rows of a JSON document: a list, ``{"tools": [...]}``, or one tool."""
    if isinstance(data, Mapping):
        inner = data.get("tools")
        return inner if isinstance(inner, list) else [data]
    return data if isinstance(data, list) else []


def _first_rows(document: Document) -> list[Any]:
    rows: list[Any] = []
    for number, line in document.lines():
        if line.strip():
            try:
                rows.append(parse_json(line, subject="", line=number))
            except DocumentError:
                rows.append(None)
        if len(rows) == 20:
            break
    return rows


def _looks_like_rows(rows: list[Any]) -> bool:
    """One row that looks like a tool is enough; a file of nothing but torn rows is a table too, and says so line by line."""
    mappings = [row for row in rows if isinstance(row, Mapping)]
    if not mappings:
        return bool(rows) and all(row is None for row in rows)
    return any(_SIGNS & row.keys() and _is_own_form(row) for row in mappings)


def _says_what_it_does(row: Any) -> bool:
    return not isinstance(row, Mapping) or bool({"description", "parameters", "inputs"} & row.keys())


def _is_own_form(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("parameters", []), (list, str, type(None)))


def _is_header(line: str) -> bool:
    cells = {cell.strip(" \"'\r").casefold() for cell in line.replace(";", ",").replace("\t", ",").split(",")}
    return bool({"name", "title"} & cells)


def _tool(place: str, row: Any, namespace: str) -> Tool | RejectedRecord:
    """One row as a tool, or why not."""
    try:
        tool = Tool.from_json(_in_own_form(row))
    except DocumentError as error:
        reason = "no-name" if error.problem == "the tool has no name" else "wrong-type"
        return RejectedRecord(subject=place, reason=reason, detail=_sentence(error))
    given = row.get("id")
    if isinstance(given, str) and given.strip():
        tool = replace(tool, id=given) if given != tool.id else tool  # to the letter: others refer to it
    elif not given:
        tool = replace(tool, id=f"{namespace}/{tool.name}" if namespace else tool.name)
    if any(_may_hold_enum(parameter.type) for parameter in (*tool.parameters, *tool.returns)):
        tool = replace(
            tool, parameters=tuple(map(enum_of_type, tool.parameters)), returns=tuple(map(enum_of_type, tool.returns))
        )
    return tool


def _in_own_form(row: Any) -> dict[str, Any]:
    """The row with its own columns apart and all others as metadata.

    :raises DocumentError: naming the column whose value has the wrong type.
    """
    if not isinstance(row, Mapping):
        raise DocumentError(f"a tool must be an object, not {_kind(row)}", subject="row")
    own: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in row.items():
        column = _SYNONYMS.get(str(key), str(key))
        (own if column in _COLUMNS else extra)[column] = value
    for column in ("id", "name", "title", "description"):
        if isinstance(own.get(column), (dict, list)):
            raise DocumentError(f"{column} must be text, not {_kind(own[column])}", subject=column)
    if isinstance(own.get("returns"), list):
        own["returns"] = [_named_output(output) for output in own["returns"]]
    if extra:
        metadata = own.get("metadata") or {}
        if not isinstance(metadata, Mapping):
            raise DocumentError("metadata must be an object", subject="metadata")
        own["metadata"] = {**extra, **metadata}
    return own


def _named_output(output: Any) -> Any:
    """An output needs no name where it is the only one: a function's return value has none."""
    if isinstance(output, Mapping) and not str(output.get("name") or "").strip():
        return {**output, "name": "result"}
    return output


def _may_hold_enum(type_: str) -> bool:
    return type_.endswith(("]", ")", "}")) and ("num" in type_.lower() or "iteral" in type_)


def _kind(value: Any) -> str:
    """The JSON name of a value's type."""
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)


def _sentence(error: DocumentError) -> str:
    field = f"{error.subject}: " if error.subject not in {"", "name", "row"} else ""
    remedy = f" {error.remedy}." if error.remedy else ""
    return f"{field}{error.problem}.{remedy}"
