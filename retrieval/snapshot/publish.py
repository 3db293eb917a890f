"""Atomic publication: write to a staging folder, fsync, rename, then update the file ``CURRENT``.

A store is a folder::

    CURRENT                 the id of the published snapshot, one line
    history.jsonl           the publications, a line each (:mod:`retrieval.snapshot.publish`)
    snapshots/<id>/         immutable snapshots
    .building-<n>/          staging folder of a build, locked by it; the next build removes those of dead processes
    .CURRENT.<pid>          the next ``CURRENT`` while it is written; the next publication removes those of dead processes
    .lock                   locked (flock) by the process that publishes; the system frees it when that process dies

At every moment ``CURRENT`` names a complete snapshot or does not exist. One publication at a time checks and changes it.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
import secrets
import shlex
import shutil
import socket
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter, ValidationError

from ontology.errors import NotFoundError, SnapshotCorruptError, SnapshotError, StorageError
from ontology.files import append, disk_errors, flush_to_disk, lock_within, replacing
from retrieval.snapshot.lease import serving_lease, unless_served
from retrieval.snapshot.manifest import Layout
from retrieval.snapshot.signing import is_signature, load_signing_key, sign_snapshot
from retrieval.snapshot.verify import is_whole, verify_snapshot

__all__ = [
    "SNAPSHOTS",
    "Publication",
    "current_snapshot",
    "named_id",
    "no_snapshot",
    "publish",
    "publish_again",
    "published_id",
    "publishing",
    "read_log",
    "readable",
    "remove_pointers",
    "remove_unfinished",
    "staging_folder",
    "this_actor",
]

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


_PREFIX = ".building-"
_REMEDY = "Check permissions and free space, and build again. The published snapshot is unchanged"


@contextlib.contextmanager
def staging_folder(store: Path) -> Iterator[Path]:
    """Yield a new staging folder inside the store. It is removed at the end of the block unless it was published.

    Its build holds a lock on it, which the system frees when the build dies. Folders of dead builds are removed first.

    :raises StorageError: when the store cannot be written, or an operating-system error ends the build.
    """
    with disk_errors(store, remedy=_REMEDY, network_errors=True):  # a build may ask models
        store.mkdir(parents=True, exist_ok=True)
        folder = store / f"{_PREFIX}{secrets.token_hex(8)}"
        with contextlib.ExitStack() as held:
            held.callback(shutil.rmtree, folder, ignore_errors=True)
            with publishing(store):  # nobody takes the folder for a dead one before it is locked
                remove_unfinished(store)
                folder.mkdir()
                held.enter_context(serving_lease(folder))
            yield folder


def remove_unfinished(store: Path) -> None:
    """Remove the staging folders of dead builds. The caller holds the store's lock.

    :raises OSError: when the store cannot be written.
    """
    for folder in store.glob(f"{_PREFIX}*"):
        if folder.is_symlink() or not folder.is_dir():  # of releases that had a file beside each folder
            folder.unlink(missing_ok=True)
            continue
        with unless_served(folder) as is_free:
            if is_free:
                shutil.rmtree(folder, ignore_errors=True)


Action: TypeAlias = Literal["publish", "rollback"]
LOG = "history.jsonl"
_MAX_ACTOR = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One change of the published snapshot.

    :param sequence: its number in the store, from 1, without gaps.
    :param snapshot_id: what was published.
    :param previous_id: what was published before; empty for nothing.
    :param time: when, UTC.
    :param action: whether it was a new publication or a way back.
    :param actor: who did it: ``user@host``, or what the caller named.
    """

    sequence: int
    snapshot_id: str
    previous_id: str
    time: datetime
    action: Action
    actor: str

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; the time in ISO 8601."""
        return {**asdict(self), "time": self.time.isoformat()}


_PUBLICATION = TypeAdapter(Publication)


def read_log(store: Path, current_id: str) -> tuple[Publication, ...]:
    """Return the publications of a store, oldest first, without those that ``CURRENT`` never confirmed.

    :param current_id: the id that ``CURRENT`` names; empty for none.
    :raises SnapshotCorruptError: for a damaged line that is not the last one.
    """
    return _confirmed(_parsed(store)[0], current_id)


@contextlib.contextmanager
def logged(store: Path, snapshot_id: str, previous_id: str, action: Action, actor: str) -> Iterator[Publication]:
    """Append a publication, and yield it; the line is taken back when the block fails. The caller holds the store's lock.

    :raises SnapshotCorruptError: when the log is damaged.
    :raises OSError: when the disk fails; the log is then as before.
    """
    found, whole_bytes = _parsed(store)
    entry = Publication(
        sequence=len(_confirmed(found, previous_id)) + 1,
        snapshot_id=snapshot_id,
        previous_id=previous_id,
        time=datetime.now(UTC),
        action=action,
        actor=(actor or this_actor())[:_MAX_ACTOR],
    )
    path = store / LOG
    existed = path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    try:
        os.ftruncate(descriptor, whole_bytes)  # a torn last line
        append(descriptor, _line(entry), whole_bytes)
        if not existed:
            flush_to_disk(store)
        yield entry
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, whole_bytes)
        raise
    finally:
        os.close(descriptor)


def this_actor() -> str:
    """Return ``user@host`` of this process."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def _line(entry: Publication) -> bytes:
    row = entry.to_json()
    return json.dumps(row).encode() + b"\n"


def _parsed(store: Path) -> tuple[list[Publication], int]:
    """Return the entries of the log, and the bytes of its whole lines."""
    lines = _read(store / LOG).splitlines(keepends=True)
    found: list[Publication] = []
    whole_bytes = 0
    for number, line in enumerate(lines, 1):
        entry = _entry(line)
        if entry is None:
            if number == len(lines):
                break
            raise SnapshotCorruptError(
                "a line of the history is damaged",
                subject=f"{store / LOG}:{number}",
                remedy="Move the file away; the next publication begins a new one. What is published is unchanged",
            )
        found.append(entry)
        whole_bytes += len(line)
    return found, whole_bytes


def _read(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SnapshotCorruptError("the history is no file", subject=str(path), remedy="Move it away")
        return file.read()


def _entry(line: bytes) -> Publication | None:
    """Return the entry of a line; None for a torn or damaged one."""
    try:
        return _PUBLICATION.validate_json(line) if line.endswith(b"\n") else None
    except ValidationError:
        return None


def _confirmed(found: Sequence[Publication], current_id: str) -> tuple[Publication, ...]:
    """Return the entries that took effect: the next one, or ``CURRENT``, says so."""
    kept = [entry for entry, following in pairwise(found) if following.previous_id == entry.snapshot_id]
    if found and found[-1].snapshot_id == current_id:
        kept.append(found[-1])
    return tuple(kept)


_CURRENT = "CURRENT"
_ID, _MAX_NAMED = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,99}"), 200
SNAPSHOTS = "snapshots"
"""The folder of a store that holds its snapshots."""


def publish(
    store: Path,
    folder: Path,
    snapshot_id: str,
    *,
    current: bool = True,
    replaces: str | None = None,
    actor: str = "",
    signing_key: Path | None = None,
) -> Path:
    """Move a finished staging folder to ``snapshots/`` and make ``CURRENT`` name it; return the snapshot's folder.

    :param current: False to leave ``CURRENT`` as it is: the snapshot is only kept.
    :param replaces: the id that ``CURRENT`` must name, empty for none; None for any.
    :param actor: who publishes, for the history; ``user@host`` of this process where empty.
    :param signing_key: file of the key that signs the snapshot; None for that of ``EGOTOOLS_SIGNING_KEY``, if any.
    :raises InvalidArgumentError: when this is no key.
    :raises SnapshotError: when it names another, perhaps of a newer catalogue; nothing is changed then.
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
            _name_current(store, snapshot_id, "publish", actor)
    return target


def publish_again(
    store: Path,
    snapshot_id: str,
    *,
    replaces: str | None = None,
    action: Action = "publish",
    actor: str = "",
    signing_key: Path | None = None,
) -> Publication | None:
    """Make ``CURRENT`` name a snapshot that is in the store already; return the publication, None where it did before.

    :param replaces: as for :func:`publish`.
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
        raise SnapshotError(
            f"another snapshot was published meanwhile ({found}), and this one would hide it",
            subject=str(store),
            remedy="Begin again with that one",
        )


def _move_in(folder: Path, target: Path) -> None:
    """Make ``target`` the finished folder. One that is there already has the same id: it stays where it is whole, and is replaced where it is
    damaged; what other keys signed is kept.
    """
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
        target.rename(folder.with_name(f"{folder.name}-damaged"))
        folder.rename(target)
        shutil.rmtree(folder.with_name(f"{folder.name}-damaged"), ignore_errors=True)
    flush_to_disk(target)


def _name_current(store: Path, snapshot_id: str, action: Action, actor: str) -> Publication | None:
    """Log the publication, then replace ``CURRENT``. When anything fails, both are as before."""
    remove_pointers(store)
    before = named_id(store)
    if before == snapshot_id:
        flush_to_disk(store)
        return None
    with logged(store, snapshot_id, before, action, actor) as publication:
        with replacing(store / _CURRENT) as temporary:
            temporary.write_text(f"{snapshot_id}\n", encoding="utf-8")
        try:
            flush_to_disk(store)
        except OSError:
            _restore(store, before)
            raise
    return publication


def _restore(store: Path, before: str) -> None:
    """Make ``CURRENT`` what it was, as far as the disk allows."""
    with contextlib.suppress(OSError):
        if before:
            with replacing(store / _CURRENT) as temporary:
                temporary.write_text(f"{before}\n", encoding="utf-8")
        else:
            (store / _CURRENT).unlink()


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
        if Layout(store).manifest.is_file():
            return store
        snapshot_id = named_id(store)
        if not snapshot_id:
            raise no_snapshot(store)
        if not _ID.fullmatch(snapshot_id):
            raise SnapshotError("CURRENT does not name a snapshot", subject=str(store / _CURRENT), remedy="Build again")
        folder = store / SNAPSHOTS / snapshot_id
        if folder.is_symlink():
            raise SnapshotError("the snapshot is a link", subject=str(folder), remedy="Build again")
        if not Layout(folder).manifest.is_file():
            raise NotFoundError(
                "CURRENT names a snapshot that does not exist", subject=str(folder), remedy="Build again"
            )
        return folder


def no_snapshot(store: Path) -> NotFoundError:
    """Return the error for a store that has published nothing. Its remedy is a command that can be typed as it stands for a folder of
    documents that was named by mistake, and with the documents in place of ``DOCUMENTS`` otherwise.
    """
    if store.is_dir() and not (store / SNAPSHOTS).is_dir() and any(store.iterdir()):
        documents = shlex.quote(str(store))
        remedy = f"If these are documents, type: egotools build {documents} --out store. Then name it: --store store"
        return NotFoundError(
            "this folder is no store: no snapshot is published here", subject=str(store), remedy=remedy
        )
    remedy = f"Build one with: egotools build DOCUMENTS --out {shlex.quote(str(store))}"
    return NotFoundError("no snapshot is published here", subject=str(store), remedy=remedy)


@contextlib.contextmanager
def readable(store: Path) -> Iterator[None]:
    """Raise SnapshotError for an error of the operating system in this block, which reads a store."""
    try:
        yield
    except OSError as error:
        raise SnapshotError(
            f"the store cannot be read: {error.strerror or error}",
            subject=str(error.filename or store),
            remedy="Let this user read the store and its snapshots",
        ) from error


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


def remove_pointers(store: Path) -> None:
    """Remove what killed processes meant to be the next ``CURRENT``. The caller holds the store's lock, so none has a living writer."""
    for file in store.glob(f".{_CURRENT}.*"):  # as ontology.files.replacing names them
        if file.suffix[1:].isdigit():
            file.unlink(missing_ok=True)
