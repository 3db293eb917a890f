"""A new version of a snapshot: the same content with other ranking weights."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ontology.errors import SnapshotCorruptError
from retrieval.snapshot.manifest import RankingSection, write_manifest
from retrieval.snapshot.publish import publish, staging_folder
from retrieval.snapshot.reader import Snapshot

__all__ = ["link_or_copy", "publish_reweighted"]


def publish_reweighted(
    snapshot: Snapshot,
    store: Path,
    ranking: RankingSection | None,
    *,
    replaces: str = "",
    published: bool = True,
    signing_key: Path | None = None,
) -> str:
    """Publish the snapshot's content with other weights in a store; return the id of the new version.

    The changes in the log of the snapshot go over to the new version.

    The files are hard-linked where the file system supports it, else copied. With the shipped weights the new version is
    the one that the build wrote, with the same id.

    :param ranking: the weights; None for the shipped ones.
    :param replaces: id of the published snapshot when the work began (:func:`retrieval.snapshot.publish.published_id`).
    :param published: False to keep the new version in the store beside the published one.
    :param signing_key: as for :func:`retrieval.snapshot.publish.publish`.
    :raises SnapshotError: when another snapshot was published since, perhaps of a newer catalogue.
    :raises SnapshotCorruptError: when a file does not match the manifest.
    :raises StorageError: when a write fails; the published snapshot is then unchanged.
    """
    with staging_folder(store) as folder:
        for name in sorted(snapshot.manifest.files):
            link_or_copy(snapshot.layout.folder / name, folder / name)
        manifest = write_manifest(folder, snapshot.manifest.model_copy(update={"ranking": ranking}))
        if manifest.files != snapshot.manifest.files:
            raise SnapshotCorruptError(
                "a file was altered while it was copied", subject=str(snapshot.layout.folder), remedy="Build again"
            )
        publish(
            store,
            folder,
            manifest.snapshot_id,
            current=published,
            replaces=replaces if published else None,
            changes_of=snapshot.id,
            signing_key=signing_key,
        )
    return manifest.snapshot_id


def link_or_copy(source: Path, target: Path) -> None:
    """Hard-link an immutable file; copy it where the file system cannot link it."""
    try:
        os.link(source, target)
    except FileNotFoundError as error:
        raise SnapshotCorruptError("the file is missing", subject=str(source), remedy="Build again") from error
    except OSError:
        shutil.copyfile(source, target)
