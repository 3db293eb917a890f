"""Where a journal has the answer to a request: by kind, key, and number among equal requests."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from threading import Lock
from typing import Any

from ontology.errors import InvalidArgumentError, StorageError
from ontology.json_object import canonical_text
from planners.journal.run_journal import RunJournal, RunRecord

__all__ = ["JournalIndex", "request_key"]

_NAMED = ("call", "model", "sandbox", "graph", "find", "step")  # first words of kinds whose records name a request
_SCHEMA = """
CREATE TABLE places (kind TEXT, key TEXT, nth INTEGER, place INTEGER, PRIMARY KEY (kind, key, nth)) WITHOUT ROWID;
CREATE TABLE made (kind TEXT, key TEXT, count INTEGER, PRIMARY KEY (kind, key)) WITHOUT ROWID;
"""
_PLACE = "INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)"
_COUNT = "INSERT INTO made VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count"
_FIND = "SELECT place FROM places WHERE kind = ? AND key = ? AND nth = ?"


def request_key(request: Any) -> str:
    """Return the key of a request, JSON values: equal requests have equal keys."""
    return hashlib.sha256(canonical_text(request).encode("utf-8", "surrogatepass")).hexdigest()


class JournalIndex:
    """The last record of each request of earlier processes, and how often this one made it. Several threads may use it.

    What failed at last in a run that a silent model stopped is not in it: it is asked again.

    It stands in a temporary file, of which SQLite keeps 2 MB in memory: memory does not grow with the run.

    :raises InvalidArgumentError: when a record names no request.
    """

    def __init__(self, journal: RunJournal) -> None:
        self._journal = journal
        self._lock = Lock()
        with _disk_errors():
            self._places = sqlite3.connect("", check_same_thread=False, factory=_Connection, isolation_level=None)
            self._places.executescript(_SCHEMA)
            self._places.execute("BEGIN")
            self._places.executemany(_PLACE, _requests(journal))
            self._places.executemany("DELETE FROM places WHERE place = ?", _to_ask_again(journal))

    def next(self, kind: str, key: str) -> int:
        """Count a request, and return its number among equal ones, from 0.

        :raises StorageError: when the disk for temporary files is full.
        """
        with self._lock, _disk_errors():
            return int(self._places.execute(_COUNT, (kind, key)).fetchone()[0]) - 1

    def last(self, kind: str, key: str, nth: int) -> RunRecord | None:
        """Return what an earlier process wrote last about a request."""
        with self._lock, _disk_errors():
            found = self._places.execute(_FIND, (kind, key, nth)).fetchone()
        return None if found is None else self._journal.at(found[0])


class _Connection(sqlite3.Connection):
    """Closes with the index that holds it: Python 3.13 warns of one that is collected open."""

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.ProgrammingError):
            self.close()


def _requests(journal: RunJournal) -> Iterator[tuple[str, str, int, int]]:
    for place, record in journal.placed():
        kind, data = record.kind.partition("_")[0], record.data
        if isinstance(data.get("key"), str) and isinstance(data.get("nth"), int) and 0 <= data["nth"] < 2**53:
            yield kind, data["key"], data["nth"], place
        elif kind in _NAMED:
            raise InvalidArgumentError(
                f"record {record.n} of the journal names no {kind}",
                subject="journal",
                remedy="Give the journal of a run",
            )


def _to_ask_again(journal: RunJournal) -> Iterator[tuple[int]]:
    """Yield the places of the failed calls of a model for which a run was stopped: those since its last answer."""
    failed: list[int] = []
    for place, record in journal.placed():
        if record.kind == "model_failed":
            failed.append(place)
        elif record.kind == "model_ended":
            failed.clear()
        elif record.kind == "run_stopped" and record.data.get("outcome") == "model":
            yield from ((each,) for each in failed)
            failed.clear()


@contextlib.contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StorageError(
            f"the index of the journal cannot be written: {error}",
            subject="temporary files",
            remedy="Check free space, or set SQLITE_TMPDIR",
        ) from error
