"""Another version of a snapshot: the same content with other ranking weights."""

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
    """The id of the snapshot that a store publishes, or empty."""
    try:
        return current_snapshot(store).name
    except NotFoundError:
        return ""


def publish_reweighted(snapshot: Snapshot, store: Path, ranking: RankingSection | None, *, replaces: str) -> str:
    """Publish the snapshot's content with other weights in a store; returns the id of the new version.

    The files are shared with the snapshot where the file system can, and copied where it cannot. With the shipped weights
    the version is the one that the build wrote, under its id.

    :param ranking: the weights; None for the shipped ones.
    :param replaces: what the store published when the work began (:func:`published_id`).
    :raises SnapshotError: when the store publishes another snapshot by now, perhaps of a newer catalogue.
    :raises SnapshotCorruptError: when a file is no longer what the manifest says.
    :raises StorageError: when the disk refuses a write; the published snapshot is unchanged then.
    """
    with staging_folder(store) as folder:
        for name in sorted(snapshot.manifest.files):
            _share(snapshot.layout.folder / name, folder / name)
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


def _share(source: Path, target: Path) -> None:
    """Link a file, which never changes; copy it where it cannot be linked: another disk, or one without links."""
    try:
        os.link(source, target)
    except FileNotFoundError as error:
        raise SnapshotCorruptError("the file is gone", subject=str(source), remedy="Build again") from error
    except OSError:
        shutil.copyfile(source, target)
