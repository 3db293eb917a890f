"""A new version of a snapshot: its files, but for some that are written anew, under a manifest with other sections."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ontology.errors import SnapshotCorruptError
from retrieval.snapshot.manifest import write_manifest
from retrieval.snapshot.publish import publish, staging_folder
from retrieval.snapshot.reader import Snapshot

__all__ = ["publish_version"]


def publish_version(
    snapshot: Snapshot,
    store: Path,
    sections: Mapping[str, Any],
    *,
    rewritten: tuple[str, ...] = (),
    write: Callable[[Path], None] = lambda folder: None,
    replaces: str,
    published: bool,
    signing_key: Path | None,
) -> str:
    """Publish a version of a snapshot in a store; return its id.

    The files are hard-linked where the file system supports it, else copied.

    :param sections: what the manifest says otherwise.
    :param rewritten: how the names of the files begin that are not taken over.
    :param write: writes those into the folder that it is given.
    :param replaces: id of the published snapshot when the work began (:func:`retrieval.snapshot.publish.published_id`).
    :param published: False to keep the version in the store beside the published one.
    :param signing_key: as for :func:`retrieval.snapshot.publish.publish`.
    :raises SnapshotError: when another snapshot was published since, perhaps of a newer catalogue.
    :raises SnapshotCorruptError: when a file does not match the manifest.
    :raises StorageError: when a write fails; the published snapshot is then unchanged.
    """
    kept = {name: info for name, info in snapshot.manifest.files.items() if not name.startswith(rewritten)}
    with staging_folder(store) as folder:
        for name in sorted(kept):
            _link_or_copy(snapshot.layout.folder / name, folder / name)
        write(folder)
        manifest = write_manifest(folder, snapshot.manifest.model_copy(update=sections))
        if {name: info for name, info in manifest.files.items() if not name.startswith(rewritten)} != kept:
            raise SnapshotCorruptError(
                "a file was altered while it was copied", subject=str(snapshot.layout.folder), remedy="Build again"
            )
        publish(
            store,
            folder,
            manifest.snapshot_id,
            current=published,
            replaces=replaces if published else None,
            signing_key=signing_key,
        )
    return manifest.snapshot_id


def _link_or_copy(source: Path, target: Path) -> None:
    """Hard-link an immutable file; copy it where the file system cannot link it."""
    try:
        os.link(source, target)
    except FileNotFoundError as error:
        raise SnapshotCorruptError("the file is missing", subject=str(source), remedy="Build again") from error
    except OSError:
        shutil.copyfile(source, target)
