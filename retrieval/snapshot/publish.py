"""Publication in a store: written aside, flushed, renamed, and then named by the file ``CURRENT``.

A store is a folder::

    CURRENT                 the id of the published snapshot, one line
    history.jsonl           the publications, a line each
    snapshots/<id>/         immutable snapshots, each locked (flock, shared) by whoever serves it
    .building-<n>/          staging folder of a build, locked by it; the next build removes those of dead processes
    .CURRENT.<pid>          the next ``CURRENT`` while it is written; the next build removes those of dead processes
    .lock                   locked by the process that publishes

At every moment ``CURRENT`` names a complete snapshot or does not exist. The operating system frees a lock when its holder dies, also in
another container, where process ids say nothing. Machines that share a store need a file system that shares these locks, as NFS 4 does.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import re
import secrets
import shlex
import shutil
import socket
import stat
import weakref
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter, ValidationError

from ontology.errors import NotFoundError, SnapshotCorruptError, SnapshotError, StorageError
from ontology.files import append, disk_errors, flush_to_disk, lock_within, replacing
from retrieval.snapshot.manifest import MANIFEST, is_whole, verify_snapshot
from retrieval.snapshot.signing import is_signature, load_signing_key, regular_file, sign_snapshot

SNAPSHOTS = "snapshots"  # the folder of a store that holds its snapshots
_CURRENT, _LOG, _LOCK, _STAGING = "CURRENT", "history.jsonl", ".lock", ".building-"
_LOCK_TIMEOUT_S = 60.0
_ID, _MAX_NAMED, _MAX_ACTOR = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,99}"), 200, 200
_REMEDY = "Check permissions and free space, and build again. The published snapshot is unchanged"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class ServingLease(contextlib.AbstractContextManager["ServingLease"]):
    """A snapshot folder that is in use: it is not collected until this is closed or no longer referred to. It holds the
    descriptor of the folder, with a shared lock where the file system has locks."""

    def __init__(self, descriptor: int) -> None:
        self.close = weakref.finalize(self, os.close, descriptor)

    def __exit__(self, *error: object) -> None:
        self.close()


def serving_lease(folder: Path) -> ServingLease:
    """Return a lease of a snapshot folder, which many may hold."""
    gone = NotFoundError("the snapshot is not there any more", subject=str(folder), remedy="Name another, or try again")
    try:
        descriptor = os.open(folder, _FOLDER)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise gone from error
    except OSError as error:
        problem, remedy = f"the snapshot cannot be read: {error.strerror}", "Let this user read the store"
        raise SnapshotError(problem, subject=str(folder), remedy=remedy) from error
    lease = ServingLease(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.stat(folder)):
            return lease
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:  # a file system without locks
        return lease
    lease.close()
    raise gone  # it is removed at this moment


@contextlib.contextmanager
def unless_served(folder: Path) -> Iterator[bool]:
    """Yield whether nobody serves a snapshot folder; nobody can begin to before the block ends."""
    descriptor = os.open(folder, _FOLDER | os.O_NOFOLLOW)
    is_free = False
    try:
        with contextlib.suppress(OSError):  # it is served, or the file system cannot tell
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_free = True
        yield is_free
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def publishing(store: Path) -> Iterator[None]:
    """Wait until no other thread or process publishes in the store, and keep them waiting until the block ends."""
    path = store / _LOCK
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            remedy = "Remove it and publish again"
            raise StorageError("the lock of the store is no file", subject=str(path), remedy=remedy)
        lock_within(descriptor, _LOCK_TIMEOUT_S, path, remedy="Wait for it or end it, and publish again")
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def staging_folder(store: Path) -> Iterator[Path]:
    """Yield a new staging folder inside the store. It is removed at the end of the block unless it was published.

    :raises StorageError: when the store cannot be written, or an operating-system error ends the build.
    """
    with disk_errors(store, remedy=_REMEDY, network_errors=True):  # a build may ask models
        store.mkdir(parents=True, exist_ok=True)
        folder = store / f"{_STAGING}{secrets.token_hex(8)}"
        with contextlib.ExitStack() as held:
            held.callback(shutil.rmtree, folder, ignore_errors=True)
            with publishing(store):  # nobody takes the folder for a dead one before it is locked
                remove_unfinished(store)
                folder.mkdir()
                held.enter_context(serving_lease(folder))
            yield folder


def remove_unfinished(store: Path) -> None:
    """Remove what dead processes left: staging folders, and what was to be the next ``CURRENT``. The caller holds the
    store's lock."""
    for folder in (
        *store.glob(f"{_STAGING}*"),
        *store.glob(f".{_CURRENT}.*"),
    ):  # as ontology.files.replacing names them
        if folder.is_symlink() or not folder.is_dir():
            folder.unlink(missing_ok=True)
            continue
        with unless_served(folder) as is_free:
            if is_free:
                shutil.rmtree(folder, ignore_errors=True)


_Action: TypeAlias = Literal["publish", "rollback"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One change of the published snapshot."""

    sequence: int  # its number in the store, from 1, without gaps
    snapshot_id: str  # what was published; ``previous_id`` what was before, empty for nothing
    previous_id: str
    time: datetime  # when, UTC
    action: _Action  # whether it was a new publication or a way back
    actor: str  # who did it: ``user@host``, or what the caller named

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; the time in ISO 8601."""
        return {**asdict(self), "time": self.time.isoformat()}


_PUBLICATION = TypeAdapter(Publication)


def confirmed_log(store: Path, current_id: str) -> list[Publication]:
    """Return the publications of a store, oldest first, without those that never took effect: the next one, or
    ``CURRENT``, says so."""
    found = _whole_lines(store)[0]
    kept = [entry for entry, following in pairwise(found) if following.previous_id == entry.snapshot_id]
    return [*kept, *(entry for entry in found[-1:] if entry.snapshot_id == current_id)]


def _whole_lines(store: Path) -> tuple[list[Publication], int]:
    """Return the entries of the log, and the bytes of its whole lines: a torn last line does not count."""
    path = store / _LOG
    try:
        with regular_file(path) as file:
            lines = file.read().splitlines(keepends=True)
    except FileNotFoundError:
        return [], 0
    found: list[Publication] = []
    for number, line in enumerate(lines, 1):
        try:
            if not line.endswith(b"\n"):
                break
            found.append(_PUBLICATION.validate_json(line))
        except ValidationError as error:
            if number == len(lines):
                break
            subject = f"{path}:{number}"
            remedy = "Move the file away; the next publication begins a new one. What is published is unchanged"
            raise SnapshotCorruptError("a line of the history is damaged", subject=subject, remedy=remedy) from error
    return found, sum(map(len, lines[: len(found)]))


def _log(store: Path, snapshot_id: str, previous_id: str, action: _Action, actor: str) -> Publication:
    """Append a publication, which is told once ``CURRENT`` confirms it, and return it. The caller holds the store's lock.
    A SnapshotCorruptError where the log is damaged; an OSError where the disk fails: no whole line is added then."""
    entry = Publication(
        sequence=len(confirmed_log(store, previous_id)) + 1,
        snapshot_id=snapshot_id,
        previous_id=previous_id,
        time=datetime.now(UTC),
        action=action,
        actor=(actor or _this_actor())[:_MAX_ACTOR],
    )
    path, end = store / _LOG, _whole_lines(store)[1]
    existed = path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    try:
        os.ftruncate(descriptor, end)
        append(descriptor, json.dumps(entry.to_json()).encode() + b"\n", end)
    finally:
        os.close(descriptor)
    if not existed:
        flush_to_disk(store)
    return entry


def _this_actor() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def publish(
    store: Path,
    folder: Path,
    snapshot_id: str,
    *,
    current: bool = True,
    replaces: str | None = None,
    signing_key: Path | None = None,
) -> Path:
    """Move a finished staging folder to ``snapshots/`` and make ``CURRENT`` name it; return the snapshot's folder.

    :param current: False to leave ``CURRENT`` as it is: the snapshot is only kept.
    :param replaces: the id that ``CURRENT`` must name, empty for none; None for any.
    :param signing_key: file of the key that signs the snapshot; None for that of ``EGOTOOLS_SIGNING_KEY``, if any.
    :raises InvalidArgumentError: when this is no key.
    :raises SnapshotError: when ``CURRENT`` names another, perhaps of a newer catalogue; nothing is changed then.
    :raises StorageError: when a write fails; ``CURRENT`` is then unchanged.
    """
    target = store / SNAPSHOTS / snapshot_id
    key = load_signing_key(signing_key)
    with disk_errors(store, remedy=_REMEDY), publishing(store):
        _require_current(store, replaces)
        target.parent.mkdir(exist_ok=True)
        if key is not None:
            sign_snapshot(folder, key)
        _move_in(folder, target)
        flush_to_disk(target.parent)
        if current:
            _name_current(store, snapshot_id, "publish", "")
    return target


def publish_again(
    store: Path,
    snapshot_id: str,
    *,
    replaces: str | None = None,
    action: _Action = "publish",
    actor: str = "",
    signing_key: Path | None = None,
) -> Publication | None:
    """Make ``CURRENT`` name a snapshot that is in the store already; return the publication, None where it did before.

    :param replaces: as for :func:`publish`.
    :param actor: who publishes, for the history; ``user@host`` of this process where empty.
    :param signing_key: file of a key that signs it too; None for no further signature.
    :raises SnapshotError: as for :func:`publish`; also when a file of it is damaged.
    :raises NotFoundError: when the store does not have it any more.
    :raises StorageError: when a write fails; ``CURRENT`` is then unchanged.
    """
    folder = store / SNAPSHOTS / snapshot_id
    key = load_signing_key(signing_key) if signing_key is not None else None
    with disk_errors(store, remedy=_REMEDY), serving_lease(folder):  # nobody removes it meanwhile
        if key is not None:
            sign_snapshot(folder, key)
        verify_snapshot(folder)  # before the lock: other publications wait for that
        with publishing(store):
            _require_current(store, replaces)
            return _name_current(store, snapshot_id, action, actor)


def _require_current(store: Path, replaces: str | None) -> None:
    if replaces is not None and (found := published_id(store)) != replaces:
        problem = f"another snapshot was published meanwhile ({found}), and this one would hide it"
        raise SnapshotError(problem, subject=str(store), remedy="Begin again with that one")


def _move_in(folder: Path, target: Path) -> None:
    """Make ``target`` the finished folder. One that is there already has the same id: it stays where it is whole, and
    is replaced where it is damaged; what other keys signed is kept."""
    for path in sorted(folder.iterdir()):
        flush_to_disk(path)
    flush_to_disk(folder)
    if target.is_symlink() or not target.is_dir():
        target.unlink(missing_ok=True)
        folder.rename(target)
        return
    keep, give = (target, folder) if is_whole(target) else (folder, target)
    for path in give.iterdir():
        if is_signature(path.name) and path.is_file() and (keep is target or not (keep / path.name).exists()):
            path.replace(keep / path.name)
    if keep is folder:
        damaged = folder.with_name(f"{folder.name}-damaged")
        target.rename(damaged)
        folder.rename(target)
        shutil.rmtree(damaged, ignore_errors=True)
    flush_to_disk(target)


def _name_current(store: Path, snapshot_id: str, action: _Action, actor: str) -> Publication | None:
    """Log the publication, then replace ``CURRENT``, which is as before when anything fails."""
    before = named_id(store)
    if before == snapshot_id:
        flush_to_disk(store)
        return None
    publication = _log(store, snapshot_id, before, action, actor)
    _write_current(store, snapshot_id)
    try:
        flush_to_disk(store)
    except OSError:
        with contextlib.suppress(OSError):
            if before:
                _write_current(store, before)
            else:
                (store / _CURRENT).unlink()
        raise
    return publication


def _write_current(store: Path, snapshot_id: str) -> None:
    with replacing(store / _CURRENT) as temporary:
        temporary.write_text(f"{snapshot_id}\n", encoding="utf-8")


def published_id(store: Path) -> str:
    """Return the id of the published snapshot of a store; empty without one."""
    try:
        return current_snapshot(store).name
    except NotFoundError:
        return ""


def current_snapshot(store: Path) -> Path:
    """Return the folder of the published snapshot; for a folder that is itself a snapshot, that folder.

    :raises SnapshotError: when ``CURRENT`` is damaged; :class:`NotFoundError` when the store has no published snapshot.
    """
    with readable(store):
        if (store / MANIFEST).is_file():
            return store
        snapshot_id = named_id(store)
        folder = store / SNAPSHOTS / snapshot_id
        if not snapshot_id:
            raise no_snapshot(store)
        if not _ID.fullmatch(snapshot_id):
            raise SnapshotError("CURRENT does not name a snapshot", subject=str(store / _CURRENT), remedy="Build again")
        if folder.is_symlink():
            raise SnapshotError("the snapshot is a link", subject=str(folder), remedy="Build again")
        if not (folder / MANIFEST).is_file():
            problem = "CURRENT names a snapshot that does not exist"
            raise NotFoundError(problem, subject=str(folder), remedy="Build again")
        return folder


def no_snapshot(store: Path) -> NotFoundError:
    """Return the error for a store that has published nothing. Its remedy is a command that can be typed as it stands
    for a folder of documents that was named by mistake, and with the documents in place of ``DOCUMENTS`` otherwise."""
    named = shlex.quote(str(store))
    if store.is_dir() and not (store / SNAPSHOTS).is_dir() and any(store.iterdir()):
        problem = "this folder is no store: no snapshot is published here"
        remedy = f"If these are documents, type: egotools build {named} --out store. Then name it: --store store"
        return NotFoundError(problem, subject=str(store), remedy=remedy)
    remedy = f"Build one with: egotools build DOCUMENTS --out {named}"
    return NotFoundError("no snapshot is published here", subject=str(store), remedy=remedy)


@contextlib.contextmanager
def readable(store: Path) -> Iterator[None]:
    """Raise SnapshotError for an error of the operating system in this block, which reads a store."""
    try:
        yield
    except OSError as error:
        problem, subject = f"the store cannot be read: {error.strerror or error}", str(error.filename or store)
        remedy = "Let this user read the store and its snapshots"
        raise SnapshotError(problem, subject=subject, remedy=remedy) from error


def named_id(store: Path) -> str:
    """Return the text of ``CURRENT``, at most a little more than an id may have; empty without the file.

    :raises OSError: when it cannot be read.
    """
    try:
        descriptor = os.open(store / _CURRENT, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # a pipe or a device could be read without end
            return ""
        return file.read(_MAX_NAMED).decode("utf-8", "replace").strip()
