"""Atomic publication: write to a staging folder, fsync, rename, then update the file ``CURRENT``.

A store is a folder::

    CURRENT                 the id of the published snapshot, one line
    history.jsonl           the publications, a line each (:mod:`retrieval.snapshot.publication_log`)
    snapshots/<id>/         immutable snapshots
    .building-<pid>-<n>/    staging folder of a build; the next build removes those of dead processes
    .CURRENT.<pid>          the next ``CURRENT`` while it is written; likewise
    .lock                   locked (flock) by the process that publishes; the system frees it when that process dies

At every moment ``CURRENT`` names a complete snapshot or does not exist. One publication at a time checks and changes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from ontology.errors import NotFoundError, SnapshotError
from ontology.files import disk_errors, flush_to_disk, replacing
from retrieval.snapshot.layout import Layout
from retrieval.snapshot.manifest import file_digest
from retrieval.snapshot.publication_log import Action, Publication, logged
from retrieval.snapshot.publish_lock import publishing

__all__ = [
    "SNAPSHOTS",
    "current_snapshot",
    "named_id",
    "publish",
    "publish_again",
    "published_id",
    "staging_folder",
]

_CURRENT = "CURRENT"
_ID, _MAX_NAMED = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,99}"), 200
SNAPSHOTS = "snapshots"
"""The folder of a store that holds its snapshots."""
_PREFIX = ".building-"
_REMEDY = "Check permissions and free space, and build again. The published snapshot is unchanged"


@contextlib.contextmanager
def staging_folder(store: Path) -> Iterator[Path]:
    """Yield a new staging folder inside the store. It is removed at the end of the block unless it was published.

    :raises StorageError: when the store cannot be written, or an operating-system error ends the build.
    """
    with disk_errors(store, remedy=_REMEDY, network_errors=True):  # a build may ask models
        store.mkdir(parents=True, exist_ok=True)
        _remove_unfinished(store)
        # The name is chosen before the folder is made, so that an interruption in between leaves nothing behind.
        folder = store / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        try:
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def publish(
    store: Path,
    folder: Path,
    snapshot_id: str,
    *,
    current: bool = True,
    replaces: str | None = None,
    actor: str = "",
) -> Path:
    """Move a finished staging folder to ``snapshots/`` and make ``CURRENT`` name it; return the snapshot's folder.

    :param current: False to leave ``CURRENT`` as it is: the snapshot is only kept.
    :param replaces: the id that ``CURRENT`` must name, empty for none; None for any.
    :param actor: who publishes, for the history; ``user@host`` of this process where empty.
    :raises SnapshotError: when it names another, perhaps of a newer catalogue; nothing is changed then.
    :raises StorageError: when a write fails; ``CURRENT`` is then unchanged.
    """
    target = store / SNAPSHOTS / snapshot_id
    with disk_errors(store, remedy=_REMEDY), publishing(store):
        if replaces is not None and (found := published_id(store)) != replaces:
            raise SnapshotError(
                f"the store published another snapshot meanwhile ({found}), and this one would hide it",
                subject=str(store),
                remedy="Tune that one",
            )
        target.parent.mkdir(exist_ok=True)
        if not _same_files(target, folder):
            for path in sorted(folder.iterdir()):
                flush_to_disk(path)
            flush_to_disk(folder)
            shutil.rmtree(target, ignore_errors=True)  # a damaged one: its name is its hash
            folder.rename(target)
        flush_to_disk(target.parent)
        if current:
            _name_current(store, snapshot_id, "publish", actor)
    return target


def publish_again(store: Path, snapshot_id: str, *, action: Action = "publish", actor: str = "") -> Publication | None:
    """Make ``CURRENT`` name a snapshot that is in the store already; return the publication, None where it did before.

    :raises StorageError: when a write fails; ``CURRENT`` is then unchanged.
    """
    with disk_errors(store, remedy=_REMEDY), publishing(store):
        _remove_unfinished(store)
        return _name_current(store, snapshot_id, action, actor)


def _name_current(store: Path, snapshot_id: str, action: Action, actor: str) -> Publication | None:
    """Log the publication, then replace ``CURRENT``. When anything fails, both are as before."""
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
    with _readable(store):
        if Layout(store).manifest.is_file():
            return store
        snapshot_id = named_id(store)
        if not snapshot_id:
            raise NotFoundError(
                "no snapshot is published here",
                subject=str(store),
                remedy="Build one with: egotools build PATH --out STORE",
            )
        if not _ID.fullmatch(snapshot_id):
            raise SnapshotError("CURRENT does not name a snapshot", subject=str(store / _CURRENT), remedy="Build again")
        folder = store / SNAPSHOTS / snapshot_id
        if not Layout(folder).manifest.is_file():
            raise NotFoundError(
                "CURRENT names a snapshot that does not exist", subject=str(folder), remedy="Build again"
            )
        return folder


@contextlib.contextmanager
def _readable(store: Path) -> Iterator[None]:
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


def _same_files(target: Path, folder: Path) -> bool:
    """Whether the target has the same files as the folder, with the same content."""
    names = sorted(path.name for path in folder.iterdir())
    if not target.is_dir() or sorted(path.name for path in target.iterdir()) != names:
        return False
    return all(file_digest(target / name) == file_digest(folder / name) for name in names)


def _remove_unfinished(store: Path) -> None:
    """Remove what killed processes left: their staging folders, and the files that were to replace ``CURRENT``."""
    for folder in store.glob(f"{_PREFIX}*"):
        if _is_dead(folder.name.removeprefix(_PREFIX).split("-")[0]):
            shutil.rmtree(folder, ignore_errors=True)
    for file in store.glob(f".{_CURRENT}.*"):  # as ontology.files.replacing names them
        if _is_dead(file.name.removeprefix(f".{_CURRENT}.")):
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)


def _is_dead(pid: str) -> bool:
    return pid.isascii() and pid.isdigit() and not _is_running(int(pid))


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # another user's; a number that no process has is none of ours
        return True
    return True
