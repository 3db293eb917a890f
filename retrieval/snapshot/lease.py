"""Leases: who works on a folder of a store, and who serves it, so that nobody removes it meanwhile.

A lease is a lock of the operating system (flock), which it frees when the holder dies. Between containers of one machine it
holds too, where process ids say nothing. Other machines that share the disk may not see it: there the heartbeat tells, the
modification time of the lease file, which its holder renews.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import stat
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from ontology.errors import NotFoundError, SnapshotError

__all__ = ["ServingLease", "held_lease", "is_dead", "serving_lease", "unless_served"]

_HEARTBEAT_S = 20.0
_STALE_S = 1_800.0
"""A holder on another machine that was not heard of for so long is dead."""
_WRITING_S = 60.0
"""A lease that its holder had no time to fill in is dead after so long."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MAX_LEASE_BYTES = 4_096


@contextlib.contextmanager
def held_lease(path: Path) -> Iterator[float]:
    """Hold a new lease file until the block ends; yield the time of its file system, seconds since 1970.

    :raises OSError: when it cannot be written.
    """
    stop = threading.Event()
    beats = threading.Thread(target=_beat, args=(path, stop), name="lease-heartbeat", daemon=True)
    descriptor = _created(path)
    try:
        beats.start()
        yield os.fstat(descriptor).st_mtime
    finally:
        stop.set()
        if beats.ident is not None:
            beats.join()
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(descriptor)


def _created(path: Path) -> int:
    """Create a lease file and lock it; return its descriptor. It gets its name last, where the file system has files without one:
    then no process can leave an empty one.
    """
    holder = json.dumps({"boot_id": _boot_id(), "host": socket.gethostname(), "pid": os.getpid()}).encode()
    try:
        return _filled(os.open(path.parent, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o644), holder, path)
    except OSError:  # no such files here, or no space: the next line tells
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o644)
    try:
        return _filled(descriptor, holder)
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        raise


def _filled(descriptor: int, holder: bytes, name: Path | None = None) -> int:
    """Lock a file, write to it, and perhaps name it; return its descriptor, which is closed where that fails."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, holder)
        if name is not None:  # a folder descriptor, whichever: only then is the link of /proc followed
            os.link(f"/proc/self/fd/{descriptor}", name, src_dir_fd=descriptor, follow_symlinks=True)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _beat(path: Path, stop: threading.Event) -> None:
    while not stop.wait(_HEARTBEAT_S):
        with contextlib.suppress(OSError):
            os.utime(path)


def is_dead(path: Path, now: float) -> bool:
    """Whether the holder of a lease is surely dead; False for a file that is no lease, or is gone.

    :param now: the time of its file system, as :func:`held_lease` yields it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            return False
        if (
            _boot_of(os.read(descriptor, _MAX_LEASE_BYTES)) != _boot_id()
        ):  # another kernel, whose locks may not show here
            return now - state.st_mtime > _STALE_S
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # it is held
        return False
    finally:
        os.close(descriptor)
    return True


def _boot_of(content: bytes) -> str | None:
    """Return the boot id in a lease; None for one that is not fully written."""
    try:
        return str(json.loads(content)["boot_id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _boot_id() -> str:
    """Return what distinguishes this run of this kernel from all others."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return socket.gethostname()


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
