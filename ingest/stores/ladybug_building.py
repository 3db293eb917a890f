"""Building a Ladybug file aside, so that an older one is replaced only by one that is complete; and how rows are copied into it."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["COPY_OPTIONS", "building_ladybug"]

COPY_OPTIONS = """auto_detect=false, header=false, parallel=false, delim=',', quote='"', escape='"'"""
"""Not parallel: Ladybug then takes a line break in a value for the end of its row."""
_AUXILIARY = (".wal", ".shadow", ".tmp")
"""What the names of a database's auxiliary files end with, for example that of its write-ahead log."""


@contextlib.contextmanager
def building_ladybug(path: Path) -> Iterator[Path]:
    """Yield a path in the same folder: the database built there replaces that of ``path`` when the block ends without an error.

    Files whose names begin with the one that is yielded are removed at the end.

    :raises OSError: when the disk fails.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        _remove(path.with_name(f"{path.name}{suffix}") for suffix in _AUXILIARY)
        temporary.replace(path)
    finally:
        _remove(temporary.parent.glob(f"{glob.escape(temporary.name)}*"))


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
