"""The source ``table.v1``: tables of tools as JSONL, CSV, TSV and JSON lists.

A row has ``title`` or ``name``, and ``description`` or ``parameters`` (name, description, type, enum), optionally ``returns`` and
``depends_on``; every other column (``line_of_business``, ``department``, …) is metadata. An ``id`` in a row is not changed. A row with a
name and nothing else of a tool is rejected; a table of such rows is rejected once.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ingest.sources.document import Document, parse_json
from ingest.sources.source import DATA_SUFFIXES, RejectedRecord, Row, Source, listed_rows, sampled_rows
from ontology.errors import DocumentError
from ontology.tool import Parameter, Tool

_CSV = frozenset({".csv", ".tsv"})
_TOOL_KEYS = frozenset({"name", "title", "description", "parameters"})
_COLUMNS = frozenset({"id", "name", "title", "description", "parameters", "returns", "depends_on", "metadata"})
_OBJECTS = frozenset({"input_schema", "output_schema", "call"})
_SYNONYMS = {"inputs": "parameters", "outputs": "returns"}


class TableSource(Source):
    """JSONL, CSV, TSV and JSON lists of tools in the format of egotools."""

    name = "table.v1"
    #: Ids in rows are the user's and get no namespace.
    keeps_ids = True

    def accepts(self, document: Document) -> bool:
        """Whether one of the first rows has a column of a tool."""
        if document.suffix in _CSV:
            header = re.split("[,;\t]", document.head.split("\n", 1)[0])
            return not {"name", "title"}.isdisjoint(cell.strip(" \"'\r").casefold() for cell in header)
        rows = sampled_rows(document)
        if len(rows) == 1 and document.suffix in DATA_SUFFIXES and isinstance(rows[0], Mapping):
            # Many configuration files have a name, so one JSON or YAML object needs another column of a tool too.
            rows = rows if {"description", "parameters", "inputs"} & rows[0].keys() else []
        return _looks_like_rows(rows)

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield one tool for each row; an invalid row is rejected with its line (in a JSON list: its index)."""
        seen: dict[str, str] = {}
        others: list[RejectedRecord] = []  # rows with a name that are no tools, until the first tool
        rows = list(_csv_rows(document) if document.suffix in _CSV else listed_rows(document))
        if not rows:
            yield RejectedRecord(document.address, "no-operations", "The table has a header, and no row of a tool.")
        alone = document.suffix in DATA_SUFFIXES and len(rows) == 1 and rows[0].value is document.data
        for location, value in rows:
            item = value
            if not isinstance(value, RejectedRecord):
                item = _tool(location, value, document.namespace, alone=alone)
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


def _looks_like_rows(rows: Sequence[Any]) -> bool:
    """Whether one row looks like a tool, or all rows are damaged (the reader then rejects each of them)."""
    mappings = [row for row in rows if isinstance(row, Mapping)]
    if not mappings:
        return bool(rows) and all(row is None or isinstance(row, RejectedRecord) for row in rows)
    return any(
        _TOOL_KEYS & row.keys() and isinstance(row.get("parameters", []), (list, str, type(None))) for row in mappings
    )


_LISTS = frozenset({"parameters", "inputs", "returns", "outputs"})


def _csv_rows(document: Document) -> Iterator[Row]:
    """Yield the rows that are not empty, each as a map from column to value."""
    csv.field_size_limit(max(csv.field_size_limit(), 64 * 2**20))
    # str.splitlines would also split at a line separator inside a cell.
    lines = list(io.StringIO(document.text, newline=""))
    delimiter = max(",;\t", key=next((line for line in lines if line.strip()), "").count)
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    columns: list[str] | None = None
    while True:
        location = f"{document.address}:{reader.line_num + 1}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Row(location, RejectedRecord(location, "invalid-csv", f"Invalid CSV: {error}."))
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if columns is not None:
            yield Row(location, _row(columns, cells, location))
            continue
        columns = [re.sub(r"\W+", "_", cell.strip().casefold()).strip("_") for cell in cells]
        if repeated := next((column for column in columns if column and columns.count(column) > 1), ""):
            problem = f"the header names the column {repeated!r} twice"
            raise DocumentError(problem, subject=location, remedy="Rename one")


def _row(columns: list[str], cells: list[str], location: str) -> Any:
    if any(cell.strip() for cell in cells[len(columns) :]):
        detail = f"The row has {len(cells)} cells and the header {len(columns)}; quote cells that hold the separator."
        return RejectedRecord(location, "wrong-columns", detail)
    row: dict[str, Any] = {}
    for column, cell in zip(columns, map(str.strip, cells), strict=False):
        if column and cell:
            try:
                row[column] = _value(column, cell)
            except DocumentError as error:
                form = ' Write a JSON list: [{"name": …, "type": …}].' if column in _LISTS else ""
                return RejectedRecord(location, error.reason, f"Column {column!r}: {error.problem}.{form}")
    return row


def _value(column: str, cell: str) -> Any:
    is_json = cell.startswith("[")
    if column == "depends_on" and not is_json:
        return [part.strip() for part in re.split(r"[;,\n]", cell) if part.strip()]
    if column in _LISTS or column in {"depends_on", "metadata"}:
        return parse_json(cell, subject=column)
    if is_json and cell.endswith("]"):
        with suppress(DocumentError):  # plain text in square brackets
            return parse_json(cell, subject=column)
    return cell


_NEEDED = "a tool has parameters (an empty list where it takes none), returns, a schema or a call, or a description of what it does"
_STRUCTURE = ("parameters", "inputs", "returns", "outputs", "input_schema", "output_schema", "depends_on", "call")


def _is_tool(row: Mapping[str, Any], *, alone: bool) -> bool:
    """Whether a row with a name is a tool; ``alone`` in its file a description does not make one."""
    description = row.get("description")
    described = isinstance(description, str) and bool(description.strip()) and not alone
    return described or any(row.get(key) is not None for key in _STRUCTURE)


def _tool(location: str, row: Any, namespace: str, *, alone: bool) -> Tool | RejectedRecord:
    try:
        tool = Tool.from_json(_split_metadata(row))
    except DocumentError as error:
        field = f"{error.subject}: " if error.subject not in {"", "name", "row"} else ""
        remedy = f" {error.remedy}." if error.remedy else ""
        return RejectedRecord(location, error.reason, f"{field}{error.problem}.{remedy}")
    if not _is_tool(row, alone=alone):
        return RejectedRecord(location, "not-a-tool", f"The row {tool.name!r} has a name, but {_NEEDED}.")
    id_, given = tool.id, row.get("id")
    if isinstance(given, str) and given.strip():
        id_ = given  # unchanged, because other tools refer to it
    elif not given:
        id_ = f"{namespace}/{tool.name}" if namespace else tool.name
    parameters, returns = (tuple(map(_with_enum, each)) for each in (tool.parameters, tool.returns))
    return replace(tool, id=id_, parameters=parameters, returns=returns)


_ENUM = re.compile(
    r"^(?P<type>.*?)\s*\benum\w*\s*[:=]?\s*[\[({](?P<values>[^\])}]*)[\])}]\s*$", re.IGNORECASE | re.DOTALL
)
_LITERAL = re.compile(r"^(?:typing\.)?(?:Optional\[)?(?:typing\.)?Literal\[(?P<values>[^\]]*)\]{1,2}$")


def _with_enum(parameter: Parameter) -> Parameter:
    """Move the values of a type like ``enum [High, Medium, Low]`` or ``Literal['a', 'b']`` to ``enum``."""
    if not parameter.type.endswith(("]", ")", "}")):  # most do not
        return parameter
    match = _ENUM.match(parameter.type) or _LITERAL.match(parameter.type)
    parts = re.split("[,|]", match["values"]) if match is not None else ()
    values = tuple(value for part in parts if (value := part.strip(" \t\n\"'")))
    if match is None or not values:
        return parameter
    type_ = (match.groupdict().get("type") or "").strip(" ,:") or "string"
    return replace(parameter, type=type_, enum=parameter.enum or values)


def _split_metadata(row: Any) -> dict[str, Any]:
    """Return the row with its unknown columns moved to ``metadata``."""
    if not isinstance(row, Mapping):
        raise DocumentError(f"a tool must be an object, not {type(row).__name__}", subject="row", reason="wrong-type")
    own: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in row.items():
        column = _SYNONYMS.get(str(key), str(key))
        is_own = column in _COLUMNS or (column in _OBJECTS and isinstance(value, Mapping))
        (own if is_own else extra)[column] = value
    for column in ("id", "name", "title", "description"):
        if isinstance(own.get(column), (dict, list)):
            problem = f"{column} must be text, not {type(own[column]).__name__}"
            raise DocumentError(problem, subject=column, reason="wrong-type")
    outputs = own.get("returns")
    if isinstance(outputs, list):  # one without a name is the result, like the return value of a function
        nameless = [isinstance(each, Mapping) and not str(each.get("name") or "").strip() for each in outputs]
        own["returns"] = [
            {**each, "name": "result"} if no else each for each, no in zip(outputs, nameless, strict=True)
        ]
    if extra:
        metadata = own.get("metadata") or {}
        if not isinstance(metadata, Mapping):
            raise DocumentError("metadata must be an object", subject="metadata", reason="wrong-type")
        own["metadata"] = {**extra, **metadata}
    return own
