"""The graph store Ladybug: an embedded graph database with Cypher queries, in one file.

A new database is built in a temporary file. It replaces the old one when it is complete and its counts are correct.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.export import EDGE_COLUMNS, NODE_COLUMNS, NODE_LABEL, edge_rows, node_rows, relations
from ingest.stores.graph_store import Counts, check_counts, counts_of
from ingest.stores.ladybug_building import COPY_OPTIONS, building_ladybug
from ingest.stores.ladybug_connection import check_ladybug, ladybug_connection
from ontology.errors import StorageError

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["LadybugStore"]

_TYPES = {str: "STRING", int: "INT64", float: "DOUBLE"}


class LadybugStore:
    """Storage in a Ladybug database file: nodes in one table, edges in one for each predicate. Needs the package ``ladybug``."""

    name = "ladybug.v1"

    def __init__(self, path: Path) -> None:
        check_ladybug("the graph store Ladybug")
        self.path = path

    def __repr__(self) -> str:
        return f"LadybugStore({str(self.path)!r})"

    def write(self, graph: nx.MultiDiGraph[str]) -> Counts:
        """Build the database in a temporary file, check its counts, and replace the old database."""
        with self._storage_errors("written"), building_ladybug(self.path) as temporary:
            with ladybug_connection(temporary) as connection:
                _fill(connection, graph, temporary.with_name(f"{temporary.name}.csv"))
                found = _counts(connection)
            check_counts(counts_of(graph), found, subject=str(self.path))
        return found

    def counts(self) -> Counts:
        """Return the number of nodes and edges in the database; zero when the file does not exist."""
        if not self.path.exists():
            return Counts(nodes=0, edges=0)
        with self._storage_errors("read"), ladybug_connection(self.path, read_only=True) as connection:
            return _counts(connection)

    @contextlib.contextmanager
    def _storage_errors(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise StorageError(
                f"the Ladybug database cannot be {verb}: {str(error).strip().rstrip('.')}",
                subject=str(self.path),
                remedy="Check that its folder exists, is writable and has room, and that no other process holds it open",
            ) from error


def _fill(connection: Any, graph: nx.MultiDiGraph[str], rows_file: Path) -> None:
    connection.execute(f"CREATE NODE TABLE {NODE_LABEL} ({_columns(NODE_COLUMNS)}, PRIMARY KEY (key))")
    _copy(connection, NODE_LABEL, node_rows(graph), list(NODE_COLUMNS), rows_file)
    for name in relations(graph):
        connection.execute(f"CREATE REL TABLE {name} (FROM {NODE_LABEL} TO {NODE_LABEL}, {_columns(EDGE_COLUMNS)})")
        _copy(connection, name, edge_rows(graph, name), ["head", "tail", *EDGE_COLUMNS], rows_file)
    connection.execute("CHECKPOINT")


def _columns(columns: dict[str, type]) -> str:
    return ", ".join(f"`{column}` {_TYPES[type_]}" for column, type_ in columns.items())


def _copy(connection: Any, table: str, rows: Iterable[dict[str, Any]], columns: list[str], rows_file: Path) -> None:
    """Load rows in bulk from a CSV file: a hundred times faster than CREATE. One COPY for each table: a second one crashed."""
    with rows_file.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        written = 0
        for row in rows:
            writer.writerow([row[column] for column in columns])
            written += 1
    if written:
        escaped_path = str(rows_file).replace("\\", "\\\\").replace("'", "\\'")
        connection.execute(f"COPY {table} FROM '{escaped_path}' ({COPY_OPTIONS})")


def _counts(connection: Any) -> Counts:
    nodes = connection.execute(f"MATCH (n:{NODE_LABEL}) RETURN count(n)").get_next()[0]
    tables = connection.execute("CALL show_tables() WHERE type = 'REL' RETURN name").get_all()
    edges = sum(connection.execute(f"MATCH ()-[e:{table}]->() RETURN count(e)").get_next()[0] for (table,) in tables)
    return Counts(nodes=int(nodes), edges=int(edges))
