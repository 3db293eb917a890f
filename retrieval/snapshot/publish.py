"""Publishing: build aside, fsync, rename, then move the pointer.

A store is a folder::

    CURRENT                 the id of the published snapshot, one line
    snapshots/<id>/         immutable snapshots
    .building-<pid>-<n>/    a snapshot being built; leftovers of dead processes are removed by the next build

At every moment ``CURRENT`` names a whole snapshot or does not exist.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ontology.errors import NotFoundError, SnapshotError, StorageError

__all__ = [
    "MANIFEST",
    "SNAPSHOTS",
    "content_id",
    "current_snapshot",
    "file_digest",
    "publish",
    "staging_folder",
    "write_manifest",
]

MANIFEST = "manifest.json"
_CURRENT = "CURRENT"
SNAPSHOTS = "snapshots"
_PREFIX = ".building-"


@contextlib.contextmanager
def staging_folder(store: Path) -> Iterator[Path]:
    """A folder inside the store to build in; gone afterwards unless it was published.

    :raises StorageError: when the store cannot be written, or an operating-system error ends the build.
    """
    try:
        store.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(store)
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=store))
    except OSError as error:
        raise _refused(store, error) from error
    try:
        yield folder
    except (ConnectionError, TimeoutError):  # errors of the operating system, but not of the disk
        raise
    except OSError as error:
        raise _refused(store, error) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_manifest(folder: Path, said: dict[str, Any]) -> str:
    """Write the manifest over everything in the folder; returns the snapshot id, a hash of all content.

    :param said: what the manifest says beside the files: format version, ontology, models, counts.
    """
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": file_digest(path)}
        for path in sorted(folder.iterdir())
        if path.name != MANIFEST
    }
    content = {**said, "files": files}
    snapshot_id = content_id(content)
    manifest = json.dumps({"snapshot_id": snapshot_id, **content}, sort_keys=True, ensure_ascii=False, indent=1)
    (folder / MANIFEST).write_text(manifest + "\n", encoding="utf-8")
    return snapshot_id


def content_id(said: Mapping[str, Any]) -> str:
    """The id of a snapshot: 16 hex digits of the SHA-256 over what its manifest says, file hashes included."""
    text = json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def publish(store: Path, folder: Path, snapshot_id: str) -> Path:
    """Move a finished folder to its place and the pointer to it; returns the snapshot's folder.

    :raises StorageError: when the disk refuses; the pointer is then untouched.
    """
    target = store / SNAPSHOTS / snapshot_id
    try:
        target.parent.mkdir(exist_ok=True)
        if not _same(target, folder):
            for path in sorted(folder.iterdir()):
                _sync(path)
            _sync(folder)
            shutil.rmtree(target, ignore_errors=True)  # only ever a damaged one: its content is its name
            folder.rename(target)
        _sync(target.parent)
        _point(store, snapshot_id)
    except OSError as error:
        raise _refused(store, error) from error
    return target


def current_snapshot(store: Path) -> Path:
    """The folder of the published snapshot; a folder that is itself a snapshot is taken as it is.

    :raises NotFoundError: when nothing was published there.
    """
    if (store / MANIFEST).is_file():
        return store
    try:
        snapshot_id = (store / _CURRENT).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NotFoundError(
            "no snapshot is published here",
            subject=str(store),
            remedy="Build one with: egotools build PATH --out STORE",
        ) from error
    if not snapshot_id or "/" in snapshot_id or snapshot_id.startswith("."):
        raise SnapshotError("CURRENT does not name a snapshot", subject=str(store / _CURRENT), remedy="Build again")
    folder = store / SNAPSHOTS / snapshot_id
    if not (folder / MANIFEST).is_file():
        raise NotFoundError("CURRENT names a snapshot that is not there", subject=str(folder), remedy="Build again")
    return folder


def file_digest(path: Path) -> str:
    """SHA-256 of a file, hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _same(target: Path, folder: Path) -> bool:
    """Whether the target already holds, undamaged, what the folder holds."""
    names = sorted(path.name for path in folder.iterdir())
    if not target.is_dir() or sorted(path.name for path in target.iterdir()) != names:
        return False
    return all(file_digest(target / name) == file_digest(folder / name) for name in names)


def _point(store: Path, snapshot_id: str) -> None:
    aside = store / f"{_CURRENT}.{os.getpid()}"
    try:
        with open(aside, "w", encoding="utf-8") as file:
            file.write(snapshot_id + "\n")
            file.flush()
            os.fsync(file.fileno())
        aside.rename(store / _CURRENT)
    finally:
        aside.unlink(missing_ok=True)
    _sync(store)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_leftovers(store: Path) -> None:
    for folder in store.glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).split("-")[0]
        if pid.isdigit() and not _alive(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _refused(store: Path, error: OSError) -> StorageError:
    return StorageError(
        f"the disk refused a write: {error.strerror or error}",
        subject=str(error.filename or store),
        remedy="Free space or mend the permissions, and build again; what was published before still serves",
    )
