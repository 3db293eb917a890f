"""Whether the files of a snapshot are those of its manifest, and the manifest that of somebody who is trusted."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ontology.errors import SnapshotCorruptError, SnapshotError
from retrieval.snapshot.manifest import FileInfo, Layout, Manifest, file_digest, read_manifest
from retrieval.snapshot.signing import is_signature, is_unfinished_signature, load_trusted_keys

__all__ = ["is_whole", "verify_listing", "verify_snapshot"]

_REMEDY = "Build again, or publish an older snapshot"
_DELETED_BUT_OPEN = ".nfs"  # what a network file system makes of a deleted file that is still read


def verify_snapshot(folder: Path, *, digests: bool = True) -> Manifest:
    """Check signature, manifest and files of a snapshot; return its manifest.

    :param digests: False to check names and sizes of the files only.
    :raises SnapshotVersionError: when the snapshot has another format version.
    :raises SnapshotSignatureError: when ``EGOTOOLS_TRUSTED_KEYS`` is set and none of these keys has signed it.
    :raises SnapshotCorruptError: naming the file that is missing, truncated, altered, or not in the manifest.
    """
    manifest = read_manifest(Layout(folder), load_trusted_keys())
    verify_listing(folder, manifest)
    if digests:
        _check_digests(folder, manifest)
    return manifest


def is_whole(folder: Path) -> bool:
    """Whether a folder has every file of its manifest as it was written, whoever signed it."""
    try:
        manifest = read_manifest(Layout(folder))
        verify_listing(folder, manifest)
        _check_digests(folder, manifest)
    except SnapshotError:
        return False
    return True


def _check_digests(folder: Path, manifest: Manifest) -> None:
    with ThreadPoolExecutor(max_workers=2) as pool:  # hashing releases the interpreter lock
        checks = [pool.submit(_check_digest, folder / name, info) for name, info in sorted(manifest.files.items())]
        for check in checks:
            check.result()


def verify_listing(folder: Path, manifest: Manifest) -> None:
    """Check that the folder has the files of the manifest in their sizes, all of them files of its own, and no others.

    :raises SnapshotCorruptError: naming the first that differs.
    """
    try:
        with os.scandir(folder) as entries:
            found = {
                entry.name: entry.stat(follow_symlinks=False).st_size if entry.is_file(follow_symlinks=False) else -1
                for entry in entries
                if not entry.name.startswith(_DELETED_BUT_OPEN)
            }
    except OSError as error:
        raise SnapshotCorruptError(
            f"the snapshot cannot be read: {error.strerror}", subject=str(folder), remedy=_REMEDY
        ) from error
    for name, info in sorted(manifest.files.items()):
        path, size = folder / name, found.get(name)
        if size is None:
            raise SnapshotCorruptError("the file is missing", subject=str(path), remedy=_REMEDY)
        if size < 0:
            raise SnapshotCorruptError("it is a link or a folder, not a file", subject=str(path), remedy=_REMEDY)
        if size != info.bytes:
            raise SnapshotCorruptError(
                f"the file has {size} bytes, not {info.bytes}", subject=str(path), remedy=_REMEDY
            )
    for name in sorted(found.keys() - manifest.files.keys()):
        if name != "manifest.json" and not is_signature(name) and not is_unfinished_signature(name):
            raise SnapshotCorruptError(
                "the manifest does not list this file", subject=str(folder / name), remedy=f"Remove it. {_REMEDY}"
            )


def _check_digest(path: Path, info: FileInfo) -> None:
    try:
        digest = file_digest(path)
    except OSError as error:
        raise SnapshotCorruptError(
            f"the file cannot be read: {error.strerror}", subject=str(path), remedy=_REMEDY
        ) from error
    if digest != info.sha256:
        raise SnapshotCorruptError("the file was altered (SHA-256 differs)", subject=str(path), remedy=_REMEDY)
