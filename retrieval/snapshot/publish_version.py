"""A new version of a snapshot: its files, but for some that are written anew, under a manifest with other sections."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ontology.errors import SnapshotCorruptError
from retrieval.learned import PastRequests, write_past_requests
from retrieval.snapshot.manifest import FileInfo, LearnedSection, RankingSection, write_manifest
from retrieval.snapshot.publish import publish, staging_folder
from retrieval.snapshot.reader import Snapshot

_LEARNED = ("use.", "bm25.use.")  # how the names of the files of the learned part begin


def publish_learned(
    snapshot: Snapshot,
    store: Path,
    learned: PastRequests | None,
    *,
    replaces: str = "",
    published: bool = True,
    signing_key: Path | None = None,
) -> str:
    """Publish the snapshot's content with another learned part in a store; return the id of the new version.

    The files are hard-linked where the file system supports it, else copied. Without a learned part the new version is the one that the
    build wrote, with the same id.

    :param replaces: id of the published snapshot when the work began (:func:`retrieval.snapshot.publish.published_id`).
    :param published: False to keep the new version in the store beside the published one.
    :param signing_key: as for :func:`retrieval.snapshot.publish.publish`.
    :raises SnapshotError: when another snapshot was published since, perhaps of a newer catalogue.
    :raises SnapshotCorruptError: when a file does not match the manifest.
    :raises StorageError: when a write fails; the published snapshot is then unchanged.
    """
    section = learned and LearnedSection(
        past_requests=learned.size,
        reporters=learned.reporter_count,
        min_reporters=learned.min_reporters,
        weight=learned.weight,
    )
    kept = {name: info for name, info in snapshot.manifest.files.items() if not name.startswith(_LEARNED)}
    current = replaces if published else None
    return _publish_version(snapshot, store, {"learned": section}, kept, learned, current, signing_key)


def publish_reweighted(
    snapshot: Snapshot,
    store: Path,
    ranking: RankingSection | None,
    *,
    replaces: str = "",
    signing_key: Path | None = None,
) -> str:
    """The same for other weights; None for the shipped ones, which give the version that the build wrote."""
    files = snapshot.manifest.files
    return _publish_version(snapshot, store, {"ranking": ranking}, files, None, replaces, signing_key)


def _publish_version(
    snapshot: Snapshot,
    store: Path,
    sections: Mapping[str, Any],
    kept: Mapping[str, FileInfo],
    learned: PastRequests | None,
    replaces: str | None,
    signing_key: Path | None,
) -> str:
    """Publish a version; see :func:`publish_learned`. ``replaces``: None to keep the version beside the published one."""
    with staging_folder(store) as folder:
        for name in sorted(kept):
            source, target = snapshot.folder / name, folder / name
            try:
                os.link(source, target)
            except FileNotFoundError as error:
                raise SnapshotCorruptError("the file is missing", subject=str(source), remedy="Build again") from error
            except OSError:  # a file system that cannot link
                shutil.copyfile(source, target)
        if learned is not None:
            write_past_requests(folder, learned)
        manifest = write_manifest(folder, snapshot.manifest.model_copy(update=sections))
        if any(manifest.files[name] != info for name, info in kept.items()):
            problem = "a file was altered while it was copied"
            raise SnapshotCorruptError(problem, subject=str(snapshot.folder), remedy="Build again")
        id_, current = manifest.snapshot_id, replaces is not None
        publish(store, folder, id_, current=current, replaces=replaces, signing_key=signing_key)
    return id_
