"""The result cache: vectors, extractions and answers of models by content hash, in one SQLite file.

The cache may be lost, and it never stops a build. A damaged file is not used. A damaged value counts as absent. When
the disk accepts no more, the cache stops writing. Each of these is logged once.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

_LOG = logging.getLogger(__name__)
_SCHEMA = "CREATE TABLE IF NOT EXISTS entries (kind TEXT, key TEXT, value BLOB, PRIMARY KEY (kind, key)) WITHOUT ROWID"
_CHECKSUM_BYTES = 4
_KEYS_A_QUERY = 500
_CHUNK = 512  # values written together; a crash loses at most this number
_LOCK_WAIT_S = 30.0
_T = TypeVar("_T")


class ResultCache:
    """Bytes by kind and key. Several threads and several processes may use one file.

    A call writes in one transaction: after a crash, all entries of the call are there or none is.

    :param path: the file, created with its folder where it is missing; None keeps the entries in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._writes = True
        self._connection = self._open()

    def get(self, kind: str, key: str) -> bytes | None:
        """The value, or None when there is none."""
        return self.get_many(kind, [key]).get(key)

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, bytes]:
        """The values of the keys that have one, in the order of ``keys``."""
        wanted = list(dict.fromkeys(keys))
        rows = self._select("key, value", kind, wanted)
        found = {key: value for key, stored in rows if (value := _checked(stored)) is not None}
        return {key: found[key] for key in wanted if key in found}

    def each(
        self,
        kind: str,
        keys: Sequence[str],
        make: Callable[[Sequence[str]], Iterable[_T]],
        *,
        encode: Callable[[_T], bytes | None],
        decode: Callable[[bytes], _T],
    ) -> Iterator[tuple[_T, bool]]:
        """Yield the value of each of these distinct keys, in order, and whether it was kept. A few values at a time are in memory.

        :param make: makes the values of the keys that have none, in their order.
        :param encode: the bytes of a value; None for one that is not to be kept.
        :param decode: the value of its bytes.
        """
        there = {key for (key,) in self._select("key", kind, keys)}
        missing = [key for key in keys if key not in there]
        fresh = self._stored(kind, zip(missing, make(missing), strict=True), encode)
        for start in range(0, len(keys), _CHUNK):
            chunk = keys[start : start + _CHUNK]
            known = self.get_many(kind, [key for key in chunk if key in there])
            for key in chunk:
                if key not in there:
                    yield next(fresh), False
                    continue
                try:
                    kept = [decode(known[key])]
                except (
                    KeyError,
                    ValueError,
                ):  # damaged or replaced meanwhile, or of another form than this version writes
                    kept = []
                yield (kept[0], True) if kept else (next(iter(make([key]))), False)

    def _stored(self, kind: str, made: Iterable[tuple[str, _T]], encode: Callable[[_T], bytes | None]) -> Iterator[_T]:
        """Yield the values, and write them in chunks; the last chunk also when the consumer stops early."""
        pending: dict[str, bytes] = {}
        try:
            for key, value in made:
                if (encoded := encode(value)) is not None:
                    pending[key] = encoded
                if len(pending) >= _CHUNK:
                    self.put_many(kind, pending)
                    pending = {}
                yield value
        finally:
            self.put_many(kind, pending)

    def _select(self, columns: str, kind: str, keys: Sequence[str]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        with self._lock:
            try:
                for start in range(0, len(keys), _KEYS_A_QUERY):
                    part = keys[start : start + _KEYS_A_QUERY]
                    marks = ",".join("?" * len(part))
                    query = f"SELECT {columns} FROM entries WHERE kind = ? AND key IN ({marks})"
                    found += self._connection.execute(query, (kind, *part)).fetchall()
            except sqlite3.DatabaseError as error:
                self._recover(error)
        return found

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Store one value; an old one is replaced."""
        self.put_many(kind, {key: value})

    def put_many(self, kind: str, values: Mapping[str, bytes]) -> None:
        """Store values, all or none; old ones are replaced."""
        rows = [(kind, key, _checksum(value) + value) for key, value in values.items()]
        with self._lock:
            if not self._writes or not rows:
                return
            try:
                with self._connection:
                    self._connection.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
            except (sqlite3.DataError, OverflowError) as error:  # a value of more than a gigabyte; the file is whole
                _LOG.warning("the cache %s does not keep a value of %s: %s", self._path, kind, error)
            except sqlite3.DatabaseError as error:
                self._recover(error)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> ResultCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> sqlite3.Connection:
        if self._path is None:
            return _connect(":memory:")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return _connect(str(self._path))
        except (sqlite3.DatabaseError, OSError) as error:
            return self._in_memory(error)

    def _recover(self, error: sqlite3.DatabaseError) -> None:
        """Go on after a call that failed; its entries are not stored. Nobody waits twice for a file that another process holds."""
        is_held = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
        if isinstance(error, sqlite3.OperationalError) and not is_held:
            if self._writes:
                _LOG.warning("the cache %s is no longer written: %s", self._path, error)
            self._writes = False
        else:
            self._connection.close()
            self._connection = self._in_memory(error)

    def _in_memory(self, error: Exception) -> sqlite3.Connection:
        problem = "the cache %s cannot be used, results are not cached: %s. Delete it where it is damaged"
        _LOG.warning(problem, self._path, error)
        return _connect(":memory:")


class _Connection(sqlite3.Connection):
    """Closes with the cache that holds it: Python 3.13 warns of one that is collected open."""

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.ProgrammingError):  # it was never opened
            self.close()


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_LOCK_WAIT_S, check_same_thread=False, factory=_Connection)
    try:
        connection.execute(_SCHEMA)
        connection.execute("SELECT kind, key, value FROM entries LIMIT 1").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _checksum(value: bytes) -> bytes:
    return zlib.crc32(value).to_bytes(_CHECKSUM_BYTES, "big")


def _checked(stored: object) -> bytes | None:
    """The value that was stored; None for one that was altered."""
    if not isinstance(stored, bytes):
        return None
    checksum, value = stored[:_CHECKSUM_BYTES], stored[_CHECKSUM_BYTES:]
    return value if _checksum(value) == checksum else None
