"""Parse CSV and TSV rows to the same objects as rows of a JSONL table."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from ingest.sources.document import Document
from ingest.sources.parsing import parse_json
from ingest.sources.rows import Row
from ingest.sources.source import RejectedRecord
from ingest.sources.table.cells import parameter_rows
from ontology.errors import DocumentError

__all__ = ["csv_rows"]

_MAX_CELL_CHARS = 64 * 2**20
_LISTS = frozenset({"parameters", "inputs", "returns", "outputs"})


def csv_rows(document: Document) -> Iterator[Row]:
    """Yield the rows that are not empty, each as a map from column to value.

    :raises DocumentError: when the header cannot be read or has a column twice.
    """
    csv.field_size_limit(max(csv.field_size_limit(), _MAX_CELL_CHARS))
    # str.splitlines would also split at a line separator inside a cell.
    lines = list(io.StringIO(document.text, newline=""))
    reader = csv.reader(lines, delimiter=_delimiter(lines), strict=True, skipinitialspace=True)
    columns: list[str] | None = None
    while True:
        line = reader.line_num + 1
        location = f"{document.address}:{line}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Row(location, RejectedRecord(location, "invalid-csv", f"Invalid CSV: {error}."))
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if columns is None:
            columns = _columns(cells, location)
        else:
            yield Row(location, _row(columns, cells, location))


def _delimiter(lines: list[str]) -> str:
    header = next((line for line in lines if line.strip()), "")
    return max(",;\t", key=header.count)


def _columns(cells: list[str], location: str) -> list[str]:
    columns = [re.sub(r"\W+", "_", cell.strip().casefold()).strip("_") for cell in cells]
    named = [column for column in columns if column]
    if len(set(named)) < len(named):
        repeated = next(column for column in named if named.count(column) > 1)
        raise DocumentError(f"the header names the column {repeated!r} twice", subject=location, remedy="Rename one")
    return columns


def _row(columns: list[str], cells: list[str], location: str) -> Any:
    if any(cell.strip() for cell in cells[len(columns) :]):
        detail = f"The row has {len(cells)} cells and the header {len(columns)}; quote cells that hold the separator."
        return RejectedRecord(location, "wrong-columns", detail)
    row: dict[str, Any] = {}
    try:
        for column, cell in zip(columns, cells, strict=False):
            if column and cell.strip():
                row[column] = _value(column, cell.strip())
    except DocumentError as error:
        return RejectedRecord(location, error.reason, f"Column {error.subject!r}: {error.problem}.")
    return row


def _value(column: str, cell: str) -> Any:
    if column in _LISTS and not cell.startswith("["):
        return parameter_rows(cell)
    if column == "depends_on" and not cell.startswith("["):
        return [part.strip() for part in re.split(r"[;,\n]", cell) if part.strip()]
    if column in _LISTS or column in {"depends_on", "metadata"}:
        try:
            return parse_json(cell, subject=column)
        except DocumentError as error:
            raise DocumentError(error.problem, subject=column, reason=error.reason) from error
    if cell.startswith("[") and cell.endswith("]"):
        try:
            return parse_json(cell, subject=column)
        except DocumentError:  # plain text in square brackets
            return cell
    return cell
