"""A table while it is written: part by part, until there are no more rows, or there is no more room."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from ontology.errors import StorageError
from planners.graphseek.results.result import Cell, ResultColumn
from planners.graphseek.results.store_file import StoreFile
from planners.graphseek.results.table_census import TableCensus

__all__ = ["TableFilling", "TableQuery", "columns_with_names", "drop_result"]

_PART = 2_000  # rows: a few hundred kilobytes of Python objects
_STEPS = (
    100_000  # of SQLite's virtual machine, between two looks at whether the query is still wanted: about a millisecond
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """A table that SQLite computes of others.

    :param text: selects the columns in their order, without LIMIT; a table is named like its handle, in double quotes, with columns
        ``c0``, ``c1``, … and row ids that count its rows from 1.
    :param of: handles of the tables that it reads.
    """

    columns: tuple[ResultColumn, ...]
    text: str
    of: tuple[str, ...]
    parameters: tuple[Cell, ...] = ()


class TableFilling:
    """Writes rows. In SQLite the columns are ``c0``, ``c1``, …, and row ids count from 1.

    :param most: rows.
    :param budget: bytes.
    :ivar cut: whether there was more than either.
    """

    def __init__(
        self, file: StoreFile, handle: str, columns: Sequence[ResultColumn], *, most: int, budget: int
    ) -> None:
        self._file, self.handle, self._most, self._budget = file, handle, most, budget
        self.census = TableCensus(columns)
        self.cut = False
        self._begun = self._dropped = False
        self._insert = f'INSERT INTO "{handle}" VALUES ({", ".join("?" * len(columns))})'

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Make the table, in place of one that has its handle."""
        drop_result(connection, self.handle)
        names = ", ".join(f"c{at}" for at in range(len(self.census.columns)))
        connection.execute(f'CREATE TABLE "{self.handle}" ({names})')

    def add(self, rows: Sequence[tuple[Cell, ...]]) -> bool:
        """Write rows, and return whether there is room for more. The table is made at the first call."""
        return self._file.run(lambda connection: self._write(connection, rows))

    def add_query(self, query: TableQuery) -> None:
        """Write the rows of a query."""

        def copy(connection: sqlite3.Connection) -> None:
            self._write(connection, ())
            connection.set_progress_handler(lambda: self._dropped, _STEPS)
            try:
                with contextlib.closing(connection.execute(query.text, query.parameters)) as found:
                    while (part := found.fetchmany(_PART)) and self._write(connection, part):
                        pass
            finally:
                connection.set_progress_handler(None, 0)

        self._file.run(copy)

    def drop(self) -> None:
        """Undo it; a query that runs in another thread ends."""
        self._dropped = True
        with contextlib.suppress(StorageError, sqlite3.ProgrammingError):
            self._file.run(lambda connection: drop_result(connection, self.handle))

    @property
    def notes(self) -> list[str]:
        """What is to be said of the table."""
        lost = [each for each in self.census.columns if each.lost]
        notes = [
            f"{each.lost} cells of {each.column.name} are no {each.column.type} and were emptied." for each in lost
        ]
        if self.cut and self.census.rows < self._most:
            notes.append(
                f"The table was cut at row {self.census.rows}: no result may be larger than {self._budget} bytes."
            )
        return notes

    def _write(self, connection: sqlite3.Connection, rows: Sequence[tuple[Cell, ...]]) -> bool:
        if self._dropped or self.cut:
            return False
        if not connection.in_transaction:
            connection.execute("BEGIN")
        if not self._begun:
            self._begun = True
            self._begin(connection)
        for start in range(0, len(rows), _PART):
            room = self._most - self.census.rows if self.census.size <= self._budget else 0
            part = rows[start : start + min(_PART, room)]
            if part:
                connection.executemany(self._insert, self.census.add(part))
            self.cut = len(part) < len(rows[start : start + _PART])
            if self.cut:
                return False
        return True


def drop_result(connection: sqlite3.Connection, handle: str) -> None:
    """Take away the rows of a table, or the body of another result."""
    connection.execute(f'DROP TABLE IF EXISTS "{handle}"')
    connection.execute("DELETE FROM bodies WHERE handle = ?", (handle,))


def columns_with_names(columns: Sequence[ResultColumn]) -> tuple[ResultColumn, ...]:
    """Return columns with different names: of equal ones the second becomes ``name_2``, and so on."""
    taken: set[str] = set()
    named = []
    for column in columns:
        name, number = column.name, 1
        while name in taken:
            number += 1
            name = f"{column.name}_{number}"
        taken.add(name)
        named.append(ResultColumn(name=name, type=column.type, node_type=column.node_type))
    return tuple(named)
