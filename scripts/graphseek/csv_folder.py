"""Tables of a graph as a folder of CSV files with the headers of Neo4j's import, which ``csv:FOLDER`` reads."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from datagen.ev_graph.graph_table import ColumnType, GraphTable

__all__ = ["write_csv_folder"]

_TYPES: dict[ColumnType, str] = {
    "string": "string",
    "integer": "long",
    "number": "double",
    "boolean": "boolean",
    "date": "date",
}


def write_csv_folder(tables: Iterable[GraphTable], folder: Path) -> None:
    """Write a file for each table; the folder is made. A missing value is an empty field.

    :raises OSError: when a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        with (folder / f"{'.'.join((table.type, *table.ends))}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(_header(table))
            writer.writerows([*map(_field, row), table.type] for row in table.rows())


def _header(table: GraphTable) -> list[str]:
    fields = [f"{name}:{_TYPES[kind]}" for name, kind in table.columns]
    if table.kind == "node":
        return [f"{table.columns[0][0]}:ID({table.type})", *fields[1:], ":LABEL"]
    source, target = table.ends
    return [f":START_ID({source})", f":END_ID({target})", *fields[2:], ":TYPE"]


def _field(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
