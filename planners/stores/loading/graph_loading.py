"""Loading tables into a new Ladybug file: built aside by COPY, made durable, and only then put in the place of an older one.

While the engine copies one table, the next is written as CSV: the two take about the same time.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

from ingest.stores.ladybug_building import COPY_OPTIONS, building_ladybug
from ingest.stores.ladybug_connection import check_ladybug, ladybug_connection
from ontology.errors import DocumentError, StorageError
from planners.stores.cypher.cypher_tokens import quoted_text
from planners.stores.cypher_names import quoted_name
from planners.stores.loading.copied_rows import row_number, write_rows
from planners.stores.loading.loaded_tables import UNDIRECTED, ColumnType, NodeTable, RelationshipTable

__all__ = ["load_graph", "load_once"]

Tables: TypeAlias = tuple[Iterable[NodeTable], Iterable[RelationshipTable]]

_TYPES = {"string": "STRING", "integer": "INT64", "number": "DOUBLE", "boolean": "BOOL", "date": "DATE"}
_DUPLICATE = re.compile(r"duplicated primary key value (.*), which violates", re.DOTALL)
_NOT_FOUND = re.compile(r"Unable to find primary key value (.*)\.$", re.DOTALL)
_LINE = re.compile(r"on line (\d+)")
"""What Ladybug 0.22 says of a row that it refuses; found by loading such rows."""
_REFUSED = re.compile(r"(?:Binder|Buffer manager) exception: (.*)", re.DOTALL)
"""What it says of columns: names that it keeps for itself, or too many."""
_LOADING: dict[str, Lock] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copy:
    """One COPY.

    :param keys: places of the columns that have keys of nodes.
    """

    text: str
    types: tuple[ColumnType, ...]
    tables: tuple[NodeTable | RelationshipTable, ...]
    keys: tuple[int, ...]


def load_once(path: Path, tables: Callable[[], Tables]) -> Path:
    """Load tables into a file that is not there yet, once, also where several threads ask for it.

    :raises EgotoolsError: as of :func:`load_graph`.
    """
    with _LOADING.setdefault(str(path), Lock()):
        if not path.exists():
            load_graph(path, *tables())
    return path


def load_graph(path: Path, nodes: Iterable[NodeTable], relationships: Iterable[RelationshipTable]) -> None:
    """Build a file from tables, which only its owner may read. An older one is replaced when the new one is complete.

    :raises DocumentError: when a table is at fault: a name or type, a missing or double key, an end that no node has.
    :raises MissingExtraError: when the package ``ladybug`` is not installed.
    :raises StorageError: when it cannot be written.
    """
    check_ladybug("graphs in Ladybug files")
    nodes, relationships = list(nodes), list(relationships)
    with _storage_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with building_ladybug(path) as temporary, ladybug_connection(temporary) as connection:
            temporary.chmod(0o600)
            _define(connection, nodes, relationships)
            _copy_all(connection, list(_copies(nodes, relationships)), temporary)
            connection.execute("CHECKPOINT")


def _define(connection: Any, nodes: Sequence[NodeTable], relationships: Sequence[RelationshipTable]) -> None:
    types = {node.type for node in nodes}
    for node in nodes:
        with _table_errors(node):
            columns = "".join(f"{_column(column)}, " for column in node.columns)
            key = quoted_name(node.key)
            connection.execute(f"CREATE NODE TABLE {quoted_name(node.type)} ({columns}PRIMARY KEY ({key}))")
    for type_ in dict.fromkeys(each.type for each in relationships):
        tables = [each for each in relationships if each.type == type_]
        for each in tables:
            for end in (each.source_type, each.target_type):
                if end not in types:
                    raise DocumentError(
                        f"there are no nodes of type {end}", subject=_subject(each), reason="dangling-type"
                    )
            if each.columns != tables[0].columns:
                raise DocumentError(
                    "tables of one type have different columns", subject=_subject(each), reason="wrong-columns"
                )
        with _table_errors(tables[0]):
            ends = dict.fromkeys((each.source_type, each.target_type) for each in tables)
            pairs = ", ".join(f"FROM {quoted_name(source)} TO {quoted_name(target)}" for source, target in ends)
            columns = "".join(f", {_column(column)}" for column in tables[0].columns)
            connection.execute(f"CREATE REL TABLE {quoted_name(type_)} ({pairs}{columns})")
        if all(each.undirected for each in tables):
            connection.execute(f"COMMENT ON TABLE {quoted_name(type_)} IS {quoted_text(UNDIRECTED)}")


def _column(column: tuple[str, ColumnType]) -> str:
    return f"{quoted_name(column[0])} {_TYPES[column[1]]}"


def _copies(nodes: Sequence[NodeTable], relationships: Sequence[RelationshipTable]) -> Iterator[_Copy]:
    """Yield one COPY for each table of the engine: a second one into the same made it crash."""
    keys: dict[str, ColumnType] = {}
    for node in nodes:
        names = [name for name, _ in node.columns]
        at = names.index(node.key)
        keys[node.type] = node.columns[at][1]
        yield _Copy(
            text=f"COPY {quoted_name(node.type)} FROM {{}} ({COPY_OPTIONS})",
            types=tuple(type_ for _, type_ in node.columns),
            tables=(node,),
            keys=(at,),
        )
    for type_, source, target in dict.fromkeys(
        (each.type, each.source_type, each.target_type) for each in relationships
    ):
        tables = tuple(
            each for each in relationships if (each.type, each.source_type, each.target_type) == (type_, source, target)
        )
        yield _Copy(
            text=f"COPY {quoted_name(type_)} FROM {{}} (from={quoted_text(source)}, to={quoted_text(target)}, {COPY_OPTIONS})",
            types=(keys[source], keys[target], *(kind for _, kind in tables[0].columns)),
            tables=tables,
            keys=(0, 1),
        )


def _copy_all(connection: Any, copies: Sequence[_Copy], temporary: Path) -> None:
    def write(at: int) -> tuple[Path, int]:
        file = temporary.with_name(f"{temporary.name}.{at}.csv")
        copy = copies[at]
        return file, write_rows(
            file, chain.from_iterable(table.rows for table in copy.tables), copy.types, _subject(copy.tables[0])
        )

    with ThreadPoolExecutor(1) as writer:
        pending: Future[tuple[Path, int]] | None = writer.submit(write, 0) if copies else None
        for at, copy in enumerate(copies):
            if pending is not None:
                file, count = pending.result()
            pending = writer.submit(write, at + 1) if at + 1 < len(copies) else None
            if count:
                _copy(connection, copy, file)
            file.unlink()


def _copy(connection: Any, copy: _Copy, file: Path) -> None:
    try:
        connection.execute(copy.text.format(quoted_text(str(file)))).close()
    except RuntimeError as error:
        raise _copy_fault(str(error), copy, file) from None


def _copy_fault(problem: str, copy: _Copy, file: Path) -> DocumentError | RuntimeError:
    """Return the error of the row or column that the engine refuses; what is no fault of the table as it is."""
    if found := _DUPLICATE.search(problem):
        seen: set[str] = set()

        def is_double(row: Sequence[str]) -> bool:
            seen_before = row[copy.keys[0]] in seen
            seen.add(row[copy.keys[0]])
            return seen_before

        return _row_fault(f"two nodes have the key {found[1][:60]}", copy, row_number(file, is_double))
    if found := _NOT_FOUND.search(problem.strip()):
        key = found[1]
        number = row_number(file, lambda row: key in (row[0], row[1]))
        return _row_fault(f"no node has the key {key[:60]}", copy, number)
    if "Found NULL" in problem:
        number = row_number(file, lambda row: not all(row[at] for at in copy.keys))
        return _row_fault("a key is missing", copy, number)
    if line := _LINE.search(problem):
        found_problem = problem.split("Line/record")[0].rpartition("exception: ")[2].strip(". ")
        return _row_fault(found_problem, copy, int(line[1]))  # Ladybug counts rows there
    if found := _REFUSED.search(problem):
        return DocumentError(
            f"the table {copy.tables[0].type} cannot be loaded: {found[1].strip().rstrip('.')}",
            subject=_subject(copy.tables[0]),
            remedy="Columns of relationships cannot be called from or to, and there cannot be thousands of columns",
        )
    return RuntimeError(problem)


def _row_fault(problem: str, copy: _Copy, number: int | None) -> DocumentError:
    """Return an error with the line in the file that the row is from, else the number of the row."""
    table = copy.tables[0]
    subject = _subject(table)
    if number is not None:
        line = next(islice(table.lines, number - 1, None), None)
        subject = f"{subject}:{line}" if line else f"{subject}, row {number}"
    return DocumentError(problem, subject=subject, remedy="Correct it and load again; nothing was replaced")


def _subject(table: NodeTable | RelationshipTable) -> str:
    return table.source or f"table {table.type}"


@contextlib.contextmanager
def _table_errors(table: NodeTable | RelationshipTable) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise DocumentError(
            f"the table {table.type} cannot be made: {str(error).rpartition('exception: ')[2].splitlines()[0].rstrip('.')}",
            subject=_subject(table),
            remedy="Names must not be empty, nor differ in case only, nor begin with an underscore",
            reason="no-name",
        ) from None


@contextlib.contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise StorageError(
            f"the Ladybug database cannot be written: {str(error).strip().rstrip('.')}",
            subject=str(path),
            remedy="Check that its folder is writable and has room",
        ) from None
