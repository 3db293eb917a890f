"""Another version of a snapshot: the same content, ranked with other weights."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ontology.errors import NotFoundError, SnapshotCorruptError, SnapshotError
from retrieval.snapshot.publish import content_id, current_snapshot, publish, staging_folder, write_manifest
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.weights import MANIFEST_KEY, SHIPPED, RankingWeights, weights_to_json

__all__ = ["publish_weighed", "published_id"]


def published_id(store: Path) -> str:
    """The id of the snapshot that a store publishes, or empty."""
    try:
        return current_snapshot(store).name
    except NotFoundError:
        return ""


def publish_weighed(snapshot: Snapshot, store: Path, weights: RankingWeights, *, replaces: str) -> str:
    """Publish the snapshot's content with these weights in a store; returns the id of the new version.

    The files are shared with the snapshot where the file system can, and copied where it cannot. With the shipped weights
    the version is the one that the build wrote, under its id.

    :param replaces: what the store published when the work began (:func:`published_id`).
    :raises SnapshotError: when the store publishes something else by now, which may be of a newer catalogue.
    :raises SnapshotCorruptError: when a file is no longer what the manifest says.
    :raises StorageError: when the disk refuses; what was published before still serves.
    """
    said = {key: value for key, value in snapshot.manifest.items() if key not in ("snapshot_id", MANIFEST_KEY)}
    if weights != SHIPPED:
        said[MANIFEST_KEY] = weights_to_json(weights)
    with staging_folder(store) as folder:
        for name in sorted(said["files"]):
            _share(snapshot.folder / name, folder / name)
        snapshot_id = write_manifest(folder, {key: value for key, value in said.items() if key != "files"})
        if snapshot_id != content_id(said):
            raise SnapshotCorruptError(
                "a file was altered while it was copied", subject=str(snapshot.folder), remedy="Build again"
            )
        if published_id(store) != replaces:
            raise SnapshotError(
                f"the store published another snapshot meanwhile ({published_id(store)}), and this one would hide it",
                subject=str(store),
                remedy="Tune that one",
            )
        publish(store, folder, snapshot_id)
    return snapshot_id


def _share(source: Path, target: Path) -> None:
    """Link a file that will never change; copy it where it cannot be linked: another disk, or one without links."""
    try:
        os.link(source, target)
    except FileNotFoundError as error:
        raise SnapshotCorruptError("the file is gone", subject=str(source), remedy="Build again") from error
    except OSError:
        shutil.copyfile(source, target)
