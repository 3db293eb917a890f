"""Tables of a graph as a folder of CSV files, as :mod:`planners.stores.ladybug` describes it, which ``csv:FOLDER`` reads."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.ev_graph.graph_table import GraphTable

__all__ = ["write_csv_folder"]


def write_csv_folder(tables: Iterable[GraphTable], folder: Path) -> None:
    """Write a file for each table; the folder is made. A missing value is an empty field.

    :raises OSError: when a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    seen: Counter[str] = Counter()
    for table in tables:
        name = f"{table.kind}s_{table.type}"
        seen[name] += 1
        path = folder / f"{name}{f'.{seen[name]}' if seen[name] > 1 else ''}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(_header(table))
            writer.writerows(map(_field, row) for row in table.rows())


def _header(table: GraphTable) -> list[str]:
    fields = [f"{name}:{kind}" for name, kind in table.columns]
    if table.kind == "node":
        return [f"{table.columns[0][0]}:ID", *fields[1:]]
    source, target = table.ends
    return [f":START_ID({source})", f":END_ID({target})", *fields[2:]]


def _field(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
