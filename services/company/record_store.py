"""The records of the company in SQLite: one table, a record a row, its fields as JSON."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ontology.errors import InvalidArgumentError, StorageError

__all__ = ["Record", "RecordStore"]

Record = dict[str, Any]
_TABLES = """
CREATE TABLE IF NOT EXISTS records (
    kind TEXT NOT NULL, id TEXT NOT NULL, number INTEGER NOT NULL, fields TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_number ON records (kind, number);
CREATE TABLE IF NOT EXISTS numbers (kind TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class RecordStore:
    """Records by kind and identifier. One transaction at a time; each sees all that was committed before it.

    :param path: the file; it is created where there is none.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.executescript(_TABLES)
        except (OSError, sqlite3.OperationalError) as error:
            raise StorageError(
                f"cannot be opened: {error}", subject=str(path), remedy="Choose a folder that can be written"
            ) from error
        except sqlite3.DatabaseError as error:
            raise InvalidArgumentError(
                f"this is no database of the company: {error}", subject=str(path), remedy="Choose an empty folder"
            ) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written within, or nothing of it when it raises."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def about(self, name: str) -> str | None:
        """A note on the store as a whole: of which seed it is."""
        row = self._connection.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def note(self, name: str, value: str) -> None:
        """Write a note on the store as a whole."""
        self._connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def next_number(self, kind: str) -> int:
        """A number, from 0 on, that no record of the kind ever had."""
        statement = "INSERT INTO numbers VALUES (?, 0) ON CONFLICT (kind) DO UPDATE SET last = last + 1 RETURNING last"
        return int(self._connection.execute(statement, (kind,)).fetchone()[0])

    def add(self, kind: str, id: str, number: int, fields: Mapping[str, Any]) -> None:
        """Add a record, or take the place of one."""
        text = json.dumps(fields, ensure_ascii=False)
        self._connection.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)", (kind, id, number, text))

    def get(self, kind: str, id: str) -> Record | None:
        """The fields of a record, or None."""
        with self._lock:
            row = self._connection.execute(
                "SELECT fields FROM records WHERE kind = ? AND id = ?", (kind, id)
            ).fetchone()
        return json.loads(row[0]) if row else None

    def all(self, kind: str) -> list[Record]:
        """The records of a kind, oldest first."""
        with self._lock:
            rows = self._connection.execute("SELECT fields FROM records WHERE kind = ? ORDER BY number", (kind,))
            return [json.loads(row[0]) for row in rows]

    def change(self, kind: str, id: str, fields: Mapping[str, Any]) -> None:
        """Write the fields of a record that is there."""
        text = json.dumps(fields, ensure_ascii=False)
        self._connection.execute("UPDATE records SET fields = ? WHERE kind = ? AND id = ?", (text, kind, id))

    def remove(self, kind: str, id: str) -> None:
        """Remove a record."""
        self._connection.execute("DELETE FROM records WHERE kind = ? AND id = ?", (kind, id))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
