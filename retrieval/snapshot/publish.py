"""Atomic publication: write to a staging folder, fsync, rename, then update the file ``CURRENT``.

A store is a folder::

    CURRENT                 the id of the published snapshot, one line
    history.jsonl           the publications, a line each (:mod:`retrieval.snapshot.publication_log`)
    snapshots/<id>/         immutable snapshots
    .building-<n>/          staging folder of a build; the next build removes those of dead processes
    .building-<n>.lease     held by its build (:mod:`retrieval.snapshot.lease`)
    .CURRENT.<pid>          the next ``CURRENT`` while it is written; the next publication removes those of dead processes
    .lock                   locked (flock) by the process that publishes; the system frees it when that process dies

At every moment ``CURRENT`` names a complete snapshot or does not exist. One publication at a time checks and changes it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ontology.errors import NotFoundError, SnapshotError
from ontology.files import disk_errors, flush_to_disk, replacing
from retrieval.snapshot.layout import Layout
from retrieval.snapshot.lease import serving_lease
from retrieval.snapshot.manifest import file_digest
from retrieval.snapshot.publication_log import Action, Publication, logged
from retrieval.snapshot.publish_lock import publishing
from retrieval.snapshot.signing import is_signature, load_signing_key, sign_snapshot
from retrieval.snapshot.staging import staging_folder
from retrieval.snapshot.verify import verify_snapshot

__all__ = [
    "SNAPSHOTS",
    "current_snapshot",
    "named_id",
    "no_snapshot",
    "publish",
    "publish_again",
    "published_id",
    "readable",
    "remove_pointers",
    "set_aside_changes",
    "staging_folder",
    "tell_unserved_changes",
]

_LOG = logging.getLogger(__name__)
_CURRENT = "CURRENT"
_CHANGES, _MAX_HEADER = "changes", 1_000
_ID, _MAX_NAMED = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,99}"), 200
SNAPSHOTS = "snapshots"
"""The folder of a store that holds its snapshots."""
_REMEDY = "Check permissions and free space, and build again. The published snapshot is unchanged"


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
    """Make ``target`` the finished folder.

    A target that is there has the same id, so its manifest asks for the same files: each one that differs is damaged and is
    replaced by itself. So a whole snapshot stays whole at every moment, and a damaged one becomes no worse.
    """
    names = {path.name for path in folder.iterdir()}
    for name in sorted(names):
        flush_to_disk(folder / name)
    flush_to_disk(folder)
    if target.is_symlink() or not target.is_dir():
        target.unlink(missing_ok=True)
        folder.rename(target)
        return
    for name in sorted(names):
        if not _same_file(target / name, folder / name):
            if not (target / name).is_symlink() and (target / name).is_dir():
                shutil.rmtree(target / name)
            (folder / name).replace(target / name)
    for path in sorted(target.iterdir()):
        if path.name not in names and not is_signature(path.name):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    flush_to_disk(target)


def _same_file(one: Path, other: Path) -> bool:
    """Whether the first is there, and a file with the content of the second."""
    try:
        state = one.lstat()
    except FileNotFoundError:
        return False
    same_size = stat.S_ISREG(state.st_mode) and state.st_size == other.lstat().st_size
    return same_size and file_digest(one) == file_digest(other)


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
        remedy = f"If these are documents, type: egotools build {documents} --out egotools-store. Then name it: --store egotools-store"
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


@cache
def tell_unserved_changes(store: Path) -> None:
    """Log once, in one line, that a store has changes of single tools, which earlier versions kept beside the snapshot."""
    for file in sorted((store / _CHANGES).glob("*.*")):
        with contextlib.suppress(OSError):
            if file.suffix in (".log", ".next") and _has_records(file):
                _LOG.warning(
                    "%s: changes of single tools wait here, which are not served any more: `egotools sync` or `egotools build` "
                    "brings in what the documents have",
                    file,
                )
                return


def set_aside_changes(store: Path) -> None:
    """Rename the logs of such changes, as a build or a sync has read the documents: nothing tells of them from then on."""
    for file in (store / _CHANGES).glob("*.*"):
        if file.suffix in (".log", ".next"):
            with contextlib.suppress(OSError):
                file.rename(file.with_suffix(".unserved"))


def _has_records(file: Path) -> bool:
    """Whether there is anything behind the first line."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as opened:
        state = os.fstat(descriptor)
        return stat.S_ISREG(state.st_mode) and len(opened.readline(_MAX_HEADER)) < state.st_size
