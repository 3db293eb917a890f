"""Whether the files of a snapshot are those of its manifest."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ontology.errors import SnapshotCorruptError
from retrieval.snapshot.layout import Layout
from retrieval.snapshot.manifest import FileInfo, Manifest, file_digest, read_manifest

__all__ = ["verify_files", "verify_snapshot"]

_REMEDY = "Build again, or publish an older snapshot"


def verify_snapshot(folder: Path) -> Manifest:
    """Read the manifest of a snapshot and check every file against it; return it.

    :raises SnapshotVersionError: when the snapshot has another format version.
    :raises SnapshotCorruptError: naming the file that is missing, truncated or altered.
    """
    manifest = read_manifest(Layout(folder))
    verify_files(folder, manifest)
    return manifest


def verify_files(folder: Path, manifest: Manifest) -> None:
    """Check size and SHA-256 of every file of the manifest.

    :raises SnapshotCorruptError: naming the file that is missing, truncated or altered.
    """
    with ThreadPoolExecutor(max_workers=2) as pool:  # hashing releases the interpreter lock
        checks = [pool.submit(_check_file, folder / name, info) for name, info in sorted(manifest.files.items())]
        for check in checks:
            check.result()


def _check_file(path: Path, info: FileInfo) -> None:
    try:
        found = path.is_file()
    except OSError as error:  # a name that no file can have
        raise SnapshotCorruptError(
            f"the file cannot be read: {error.strerror}", subject=str(path.parent), remedy=_REMEDY
        ) from error
    if not found:
        raise SnapshotCorruptError("the file is missing", subject=str(path), remedy=_REMEDY)
    size = path.stat().st_size
    if size != info.bytes:
        raise SnapshotCorruptError(f"the file has {size} bytes, not {info.bytes}", subject=str(path), remedy=_REMEDY)
    if file_digest(path) != info.sha256:
        raise SnapshotCorruptError("the file was altered (SHA-256 differs)", subject=str(path), remedy=_REMEDY)
