"""Carrying changes over: a snapshot that takes the place of another begins with the changes of that one which it does not have.

The log of the new snapshot is written beside its place, then ``CURRENT`` is replaced, then the log moves to its place, all under the lock
of the store. A crash in between leaves either the old snapshot with its log, or the new one and a log that the next process moves.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ontology.errors import StorageError
from ontology.files import disk_errors, flush_to_disk
from retrieval.snapshot.change_records import CHANGES, log_file, read_changes, write_log

__all__ = ["carrying", "finish_carrying", "is_carrying"]

_NEXT = ".next"
_CURRENT = "CURRENT"
_REMEDY = "Free space or mend the permissions, and publish again. The published snapshot is unchanged"


@contextmanager
def carrying(store: Path, old_id: str, new_id: str, count: int = 0) -> Iterator[None]:
    """Make ``new_id`` current in the block. It begins with the changes of ``old_id``, which keeps its log.

    Hold the lock of the store (:func:`retrieval.snapshot.publish_lock.publishing`).

    :param count: how many of the first changes the new snapshot has in it.
    :raises StorageError: when a write fails, or another process changes the new snapshot; nothing is changed then.
    :raises SnapshotCorruptError: when the log is damaged.
    """
    if old_id == new_id:
        yield
        return
    rest = read_changes(store, old_id)[count:]
    path = log_file(store, new_id)
    if not rest and not path.exists():
        yield
        return
    prepared = path.with_suffix(_NEXT)
    with disk_errors(path, remedy=_REMEDY):
        _require_free(path)
        path.parent.mkdir(exist_ok=True)
        write_log(prepared, new_id, rest)
        flush_to_disk(store)
    try:
        yield
    except BaseException:
        prepared.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # it is published; the next process that opens the log moves it
        finish_carrying(store)


def is_carrying(store: Path) -> bool:
    """Whether a publication has prepared a log: it is under way, or it has died."""
    return any((store / CHANGES).glob(f"*{_NEXT}"))


def finish_carrying(store: Path) -> None:
    """Move the log that was prepared for the published snapshot to its place, and remove those of publications that died before.

    Hold the lock of the store.

    :raises OSError: when the disk fails.
    """
    try:
        current = (store / _CURRENT).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        current = ""
    for prepared in sorted((store / CHANGES).glob(f"*{_NEXT}")):
        if prepared.stem == current:
            prepared.replace(log_file(store, current))
        else:
            prepared.unlink(missing_ok=True)
        flush_to_disk(prepared.parent)


def _require_free(path: Path) -> None:
    """Refuse to replace a log that a process writes."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StorageError(
            "another process changes this snapshot", subject=str(path), remedy="End it, and publish again"
        ) from None
    finally:
        os.close(file)
