"""A new version of a snapshot: the same content with other ranking weights."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ontology.errors import NotFoundError, SnapshotCorruptError, SnapshotError
from retrieval.snapshot.manifest import RankingSection, write_manifest
from retrieval.snapshot.publish import current_snapshot, publish, staging_folder
from retrieval.snapshot.reader import Snapshot

__all__ = ["publish_reweighted", "published_id"]


def published_id(store: Path) -> str:
    """Return the id of the published snapshot of a store; empty without one."""
    try:
        return current_snapshot(store).name
    except NotFoundError:
        return ""


def publish_reweighted(snapshot: Snapshot, store: Path, ranking: RankingSection | None, *, replaces: str) -> str:
    """Publish the snapshot's content with other weights in a store; return the id of the new version.

    The files are hard-linked where the file system supports it, else copied. With the shipped weights the new version is
    the one that the build wrote, with the same id.

    :param ranking: the weights; None for the shipped ones.
    :param replaces: id of the published snapshot when the work began (:func:`published_id`).
    :raises SnapshotError: when another snapshot was published since, perhaps of a newer catalogue.
    :raises SnapshotCorruptError: when a file does not match the manifest.
    :raises StorageError: when a write fails; the published snapshot is then unchanged.
    """
    with staging_folder(store) as folder:
        for name in sorted(snapshot.manifest.files):
            _link_or_copy(snapshot.layout.folder / name, folder / name)
        manifest = write_manifest(folder, snapshot.manifest.model_copy(update={"ranking": ranking}))
        if manifest.files != snapshot.manifest.files:
            raise SnapshotCorruptError(
                "a file was altered while it was copied", subject=str(snapshot.layout.folder), remedy="Build again"
            )
        if published_id(store) != replaces:
            raise SnapshotError(
                f"the store published another snapshot meanwhile ({published_id(store)}), and this one would hide it",
                subject=str(store),
                remedy="Tune that one",
            )
        publish(store, folder, manifest.snapshot_id)
    return manifest.snapshot_id


def _link_or_copy(source: Path, target: Path) -> None:
    """Hard-link an immutable file; copy it where the file system cannot link it."""
    try:
        os.link(source, target)
    except FileNotFoundError as error:
        raise SnapshotCorruptError("the file is missing", subject=str(source), remedy="Build again") from error
    except OSError:
        shutil.copyfile(source, target)
