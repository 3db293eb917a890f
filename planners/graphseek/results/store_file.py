"""The SQLite file of a run's results: one connection, used by one thread at a time."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import TypeVar
from urllib.parse import quote

from ontology.errors import InvalidArgumentError, StorageError
from planners.graphseek.results.result import Cell

__all__ = ["StoreFile", "folded"]

T = TypeVar("T")

_OPEN = "results.sqlite3"
_FINISHED = "results-finished.sqlite3"
_WAIT_S = 5.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (handle TEXT PRIMARY KEY, record TEXT);
CREATE TABLE IF NOT EXISTS bodies (handle TEXT PRIMARY KEY, body TEXT);
"""
# Results can be computed again, so nothing waits for the disk; a process that dies leaves a file that can be read.
_SETTINGS = ("PRAGMA journal_mode = TRUNCATE", "PRAGMA synchronous = OFF")


class StoreFile:
    """One file in a folder; that of a finished run has another name, and is never written. Only its owner may read it.

    :param folder: made where it is missing.
    :ivar finished: whether it can only be read.
    :raises StorageError: when the folder cannot be written, or the file is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._lock = Lock()
        self.finished = (folder / _FINISHED).exists()
        self.path = folder / (_FINISHED if self.finished else _OPEN)
        with self._errors():
            _make_private(self.path)
            self._connection = self._connect()

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` with the connection; others wait. It may be called in any thread.

        :raises StorageError: when the disk is full, or the file is damaged.
        """
        with self._lock, self._errors():
            return work(self._connection)

    def finish(self) -> None:
        """Write everything to the disk, and go on with a file that cannot be written."""
        with self._lock, self._errors():
            self._connection.close()
            with self.path.open("rb") as file:
                os.fsync(file.fileno())
            self.path, self.finished = self.path.rename(self.path.with_name(_FINISHED)), True
            self._connection = self._connect()

    def copy(self, folder: Path) -> None:
        """Copy what was committed into another folder, as the file of a run that goes on."""
        with self._lock, self._errors():
            _make_private(folder / _OPEN)
            with contextlib.closing(sqlite3.connect(folder / _OPEN)) as other:
                self._connection.backup(other)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _connect(self) -> sqlite3.Connection:
        where = f"file:{quote(str(self.path))}" + ("?mode=ro&immutable=1" if self.finished else "")
        connection = sqlite3.connect(
            where, uri=True, timeout=_WAIT_S, check_same_thread=False, factory=_Connection, isolation_level=None
        )
        try:
            if not self.finished:
                for setting in _SETTINGS:
                    connection.execute(setting)
                connection.executescript(_SCHEMA)
            connection.execute("SELECT count(*) FROM records").fetchone()
            connection.create_function("folded", 1, folded, deterministic=True)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.OperationalError as error:
            if "overflow" in str(error):
                raise InvalidArgumentError("a sum has more than 64 bits", subject="results") from error
            raise self._unusable(error, "Check free space and permissions, then ask again") from error
        except sqlite3.DatabaseError as error:
            raise self._unusable(error, "The file is damaged: delete it, and ask again") from error
        except OSError as error:
            raise self._unusable(error, "Check free space and permissions, then ask again") from error

    def _unusable(self, error: Exception, remedy: str) -> StorageError:
        return StorageError(f"results cannot be kept or read: {error}", subject=str(self.path), remedy=remedy)


def _make_private(path: Path) -> None:
    """Make an empty file where there is none, which SQLite then takes, and its folder."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))


class _Connection(sqlite3.Connection):
    """Closes with the file that holds it: Python 3.13 warns of one that is collected open."""

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.ProgrammingError):
            self.close()


def folded(cell: Cell) -> Cell:
    """Return a text as names are compared: composed, without case; anything else as it is."""
    return unicodedata.normalize("NFC", cell).casefold() if isinstance(cell, str) else cell
