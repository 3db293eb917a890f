"""Opening Ladybug, an embedded graph database, with limits of our own: its defaults take most of the memory there is."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from ontology.errors import MissingExtraError

__all__ = ["check_ladybug", "ladybug_connection", "open_ladybug"]

_BUFFER_BYTES = 1 << 30
_DATABASE_BYTES = 1 << 36
"""Address space that a database reserves: 64 GiB, forty times the largest graph of our catalogues; Ladybug's default is 8 TiB,
which containers with a limit of address space refuse. It must be a power of two."""
_OPENING = Lock()
"""Held while a database is opened: of the first ones, in several threads at once, all but one would find no engine."""


def check_ladybug(feature: str) -> None:
    """Check that the package is there.

    :raises MissingExtraError: when it is not.
    """
    if importlib.util.find_spec("ladybug") is None:
        raise MissingExtraError(feature, extra="ladybug")


def open_ladybug(
    path: Path | None,
    *,
    read_only: bool = False,
    buffer_bytes: int = _BUFFER_BYTES,
    database_bytes: int = _DATABASE_BYTES,
    threads: int = 0,
) -> tuple[Any, Any]:
    """Return a database and a connection to it; close both, the connection first.

    :param path: its file; None: it stands in memory and ends with the database.
    :param buffer_bytes: memory that pages take at most.
    :param database_bytes: address space, a power of two.
    :param threads: of one query; 0: one a core.
    """
    import ladybug

    with _OPENING:
        database = ladybug.Database(
            ":memory:" if path is None else str(path),
            read_only=read_only,
            buffer_pool_size=buffer_bytes,
            max_db_size=database_bytes,
            max_num_threads=threads,
        )
    try:
        return database, ladybug.Connection(database)
    except BaseException:
        database.close()
        raise


@contextlib.contextmanager
def ladybug_connection(path: Path, *, read_only: bool = False) -> Iterator[Any]:
    """Yield a connection to a database in a file, and close both."""
    database, connection = open_ladybug(path, read_only=read_only)
    try:
        yield connection
    finally:
        connection.close()
        database.close()
