"""Building a Ladybug file aside, so that an older one is replaced only by one that is complete; and how rows are copied into it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["COPY_OPTIONS", "building_ladybug"]

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
