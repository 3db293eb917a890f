"""A table of nodes of one type, or of relationships between two types; and tables loaded into a Ladybug file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from benchmarks.ev_graph.ev_draws import Floats, Ints
from planners.stores.ladybug import NodeTable, RelationshipTable, load_graph

ColumnType: TypeAlias = Literal["string", "integer", "number", "boolean", "date"]
Column: TypeAlias = Sequence[object] | Ints | Floats
Columns: TypeAlias = Mapping[str, Column]
"""Name of a column → its values; None where there is none; a date is text like 2021-03-14."""

_BATCH_ROWS = 50_000
"""So that a batch takes some 40 MiB, whatever the size of the graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphTable:
    """One table. Its rows are made anew on each reading and are always the same.

    :param type: of the nodes or relationships.
    :param ends: types of source and target of relationships; none for nodes.
    :param columns: names and types. Nodes: ``key`` first; relationships: ``source`` and ``target`` first, which are keys.
    :param count: rows.
    :param make: rows by their numbers → values of the columns.
    """

    kind: Literal["node", "relationship"]
    type: str
    ends: tuple[str, ...] = ()
    columns: tuple[tuple[str, ColumnType], ...]
    count: int
    make: Callable[[Ints], Columns]

    def batches(self) -> Iterator[dict[str, list[object]]]:
        """Yield columns of at most 50,000 rows."""
        for start in range(0, self.count, _BATCH_ROWS):
            made = self.make(np.arange(start, min(start + _BATCH_ROWS, self.count), dtype=np.int64))
            yield {name: _plain(made[name]) for name, _ in self.columns}

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield the rows, values in the order of the columns."""
        for batch in self.batches():
            yield from zip(*batch.values(), strict=True)


def _plain(values: Column) -> list[object]:
    """Return Python's own numbers for those of NumPy."""
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a table, each time they are gone through."""

    table: GraphTable

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        return self.table.rows()


def load_tables(path: Path, tables: Iterable[GraphTable]) -> None:
    """Build a Ladybug file; an older one is replaced.

    :raises MissingExtraError: when the package ``ladybug`` is not installed.
    :raises StorageError: when it cannot be written.
    """
    nodes, relationships = [], []
    for table in tables:
        if table.kind == "node":
            nodes.append(NodeTable(type=table.type, columns=table.columns, key=table.columns[0][0], rows=_Rows(table)))
        else:
            source, target = table.ends
            relationships.append(
                RelationshipTable(
                    type=table.type,
                    source_type=source,
                    target_type=target,
                    columns=table.columns[2:],
                    rows=_Rows(table),
                )
            )
    load_graph(path, nodes, relationships)
