"""The graph store Ladybug: an embedded graph database that speaks Cypher, in one file.

A database is built aside and takes the place of the old one when it is complete and its counts are right.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.export import NODE_LABEL
from ingest.graph_rows import EDGE_COLUMNS, NODE_COLUMNS, edge_rows, node_rows, relations
from ingest.stores.graph_store import Counts, check_counts, counts_of
from ontology.errors import MissingExtraError, StorageError

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["LadybugStore"]

_CSV = """auto_detect=false, header=false, parallel=false, delim=',', quote='"', escape='"'"""
_MAX_BUFFER_BYTES = 1 << 30
_TYPES = {str: "STRING", int: "INT64", float: "DOUBLE"}


class LadybugStore:
    """Keeps the graph in a Ladybug database file: nodes in one table, edges in one table for each predicate."""

    name = "ladybug.v1"

    def __init__(self, path: Path) -> None:
        if importlib.util.find_spec("ladybug") is None:
            raise MissingExtraError("the graph store Ladybug", extra="ladybug")
        self.path = path

    def __repr__(self) -> str:
        return f"LadybugStore({str(self.path)!r})"

    def write(self, graph: nx.MultiDiGraph[str]) -> Counts:
        """Build the database aside, count it, and put it in the place of the old one."""
        aside = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        rows_file = aside.with_name(f"{aside.name}.csv")
        try:
            with self._trouble("written"):
                with _connection(aside) as connection:
                    _fill(connection, graph, rows_file)
                    found = _counts(connection)
                check_counts(counts_of(graph), found, subject=str(self.path))
                _sync(aside)
                _remove(_beside(self.path))
                aside.replace(self.path)
        finally:
            _remove([aside, rows_file, *_beside(aside)])
        return found

    def counts(self) -> Counts:
        """How much the database holds."""
        if not self.path.exists():
            return Counts(nodes=0, edges=0)
        with self._trouble("read"), _connection(self.path, read_only=True) as connection:
            return _counts(connection)

    @contextlib.contextmanager
    def _trouble(self, what: str) -> Iterator[None]:
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise StorageError(
                f"the Ladybug database cannot be {what}: {str(error).strip().rstrip('.')}",
                subject=str(self.path),
                remedy="Check that its folder exists, is writable and has room, and that no other process holds it open",
            ) from error


@contextlib.contextmanager
def _connection(path: Path, *, read_only: bool = False) -> Iterator[Any]:
    import ladybug

    database = ladybug.Database(str(path), read_only=read_only, buffer_pool_size=_MAX_BUFFER_BYTES)
    try:
        connection = ladybug.Connection(database)
        try:
            yield connection
        finally:
            connection.close()
    finally:
        database.close()


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
    """Bulk load from a file: a hundred times as fast as CREATE, and one COPY a table, since a second one of a parameter crashed."""
    with rows_file.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        written = 0
        for row in rows:
            writer.writerow([row[column] for column in columns])
            written += 1
    if written:
        place = str(rows_file).replace("\\", "\\\\").replace("'", "\\'")
        connection.execute(f"COPY {table} FROM '{place}' ({_CSV})")


def _counts(connection: Any) -> Counts:
    nodes = connection.execute(f"MATCH (n:{NODE_LABEL}) RETURN count(n)").get_next()[0]
    tables = connection.execute("CALL show_tables() WHERE type = 'REL' RETURN name").get_all()
    edges = sum(connection.execute(f"MATCH ()-[e:{table}]->() RETURN count(e)").get_next()[0] for (table,) in tables)
    return Counts(nodes=int(nodes), edges=int(edges))


def _beside(path: Path) -> list[Path]:
    """The files that the database keeps beside its own: the log of writes not yet in it."""
    return [path.with_name(f"{path.name}{suffix}") for suffix in (".wal", ".shadow", ".tmp")]


def _remove(paths: list[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
