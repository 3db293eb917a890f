"""Leases: who serves a snapshot, or builds one, so that nobody removes it meanwhile.

A lease is a lock of the operating system on the folder (flock), which it frees when the holder dies; between containers of one machine it
holds too, where process ids say nothing. Machines that share a store need a file system that shares these locks, as NFS 4 does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from ontology.errors import NotFoundError, SnapshotError

__all__ = ["ServingLease", "serving_lease", "unless_served"]


class ServingLease:
    """A snapshot folder that is in use: it is not collected until this is closed or no longer referred to.

    :param descriptor: of the folder, with a shared lock; -1 where the file system has no locks.
    """

    def __init__(self, descriptor: int) -> None:
        self._close = weakref.finalize(self, _close, descriptor)

    def close(self) -> None:
        """Give the lease back; twice is harmless."""
        self._close()

    def __enter__(self) -> ServingLease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serving_lease(folder: Path) -> ServingLease:
    """Return a lease of a snapshot folder, which many may hold.

    :raises NotFoundError: when the folder is not there, or is being removed.
    :raises SnapshotError: when it cannot be opened.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _gone(folder) from error
    except OSError as error:
        raise SnapshotError(
            f"the snapshot cannot be read: {error.strerror}",
            subject=str(folder),
            remedy="Let this user read the store and its snapshots",
        ) from error
    lease = ServingLease(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(descriptor), os.stat(folder)):
            raise _gone(folder)
    except (BlockingIOError, FileNotFoundError) as error:  # it is removed at this moment
        lease.close()
        raise _gone(folder) from error
    except OSError:  # a file system without locks
        pass
    return lease


def _gone(folder: Path) -> NotFoundError:
    return NotFoundError("the snapshot is not there any more", subject=str(folder), remedy="Name another, or try again")


@contextlib.contextmanager
def unless_served(folder: Path) -> Iterator[bool]:
    """Yield whether nobody serves a snapshot folder; nobody can begin to before the block ends.

    :raises OSError: when the folder cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # it is served, or the file system cannot tell
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _close(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.close(descriptor)
