"""Files that are only appended to: what was acknowledged is on the disk, in the file of that name; what was refused is not there."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["append", "cut", "is_named", "locked"]


def append(descriptor: int, data: bytes, end: int, *, fsync: Callable[[int], None] | None = None) -> int:
    """Write data at the end of an open file and wait until it is on the disk; return the new end.

    :param end: size of the file in bytes, as its writer knows it.
    :param fsync: waits until a file is on the disk; None for that of the system.
    :raises OSError: when the disk fails; what was written is then taken back, as far as the disk allows.
    """
    at, rest = end, memoryview(data)
    try:
        while rest:
            written = os.pwrite(descriptor, rest, at)
            at, rest = at + written, rest[written:]
        (fsync or os.fsync)(descriptor)
    except OSError:
        with suppress(OSError):
            cut(descriptor, end)
        raise
    return at


def cut(descriptor: int, end: int) -> None:
    """Remove what follows, and wait until that is on the disk; raise OSError when the disk fails."""
    os.ftruncate(descriptor, end)
    os.fsync(descriptor)


def is_named(descriptor: int, path: Path) -> bool:
    """Whether an open file still has this name: nobody has removed or replaced it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def locked(path: Path) -> int:
    """Open a file to append to it, and lock it; return the descriptor, with whose closing the lock ends.

    :raises BlockingIOError: when another process has locked it, or it was removed or replaced at this moment.
    :raises OSError: when it cannot be opened, or is a link.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not is_named(descriptor, path):
            raise BlockingIOError("the file was replaced meanwhile")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
