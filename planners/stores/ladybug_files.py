"""Ladybug files: opened with limits of our own, since its defaults take most of the memory there is; built aside, so that an older one is
replaced only by one that is complete."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from ontology.errors import MissingExtraError

__all__ = ["COPY_OPTIONS", "building_ladybug", "check_ladybug", "ladybug_connection", "open_ladybug"]

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


COPY_OPTIONS = """auto_detect=false, header=false, parallel=false, delim=',', quote='"', escape='"'"""
"""Not parallel: Ladybug then takes a line break in a value for the end of its row."""
_AUXILIARY = (".wal", ".shadow", ".tmp")
"""What the names of a database's auxiliary files end with, for example that of its write-ahead log."""
_ASIDE = re.compile(r"\..+\.(\d{1,9})-\w{8}\.part")
"""The name of a folder where one is built, with the number of the process."""


@contextlib.contextmanager
def building_ladybug(path: Path) -> Iterator[Path]:
    """Yield a path in a new folder beside ``path``, which nobody else may read: the database built there replaces that of ``path`` when
    the block ends without an error. The folder is removed at the end; those of processes that were killed, at the beginning.

    :raises OSError: when the disk fails.
    """
    for left in path.parent.glob(".*.part"):
        if (found := _ASIDE.fullmatch(left.name)) and not _is_alive(int(found[1])):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.{os.getpid()}-", suffix=".part", dir=path.parent))
    try:
        temporary = folder / path.name
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        for suffix in _AUXILIARY:
            with contextlib.suppress(OSError):
                path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
        temporary.replace(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        pass
    return True
