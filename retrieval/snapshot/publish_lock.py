"""The lock of a store: one thread or process publishes, rolls back or collects at a time."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ontology.errors import StorageError
from ontology.files import lock_within

__all__ = ["publishing"]

_LOCK = ".lock"
_LOCK_TIMEOUT_S = 60.0


@contextlib.contextmanager
def publishing(store: Path, *, wait_s: float | None = None) -> Iterator[None]:
    """Wait until no other thread or process publishes in the store, and keep them waiting until the block ends.

    :param wait_s: how long to wait; None for a minute.

    The operating system frees the lock when its holder dies.

    :raises StorageError: when another holds it for so long, or it is no file.
    :raises OSError: when it cannot be opened.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(store / _LOCK, flags, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StorageError(
                "the lock of the store is no file", subject=str(store / _LOCK), remedy="Remove it and publish again"
            )
        lock_within(
            descriptor,
            _LOCK_TIMEOUT_S if wait_s is None else wait_s,
            store / _LOCK,
            remedy="Wait for it or end it, and publish again",
        )
        yield
    finally:
        os.close(descriptor)
