"""Loading generated tables into a Ladybug file: what joins the generator with the loader, which know nothing of each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ev_graph.graph_table import GraphTable
from planners.stores.ladybug import NodeTable, RelationshipTable, load_graph

__all__ = ["load_tables"]


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
