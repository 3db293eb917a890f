"""A new version of a snapshot: its files, with other weights or another learned part, under a manifest of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ontology.errors import SnapshotCorruptError
from retrieval.learned import PastRequests, write_past_requests
from retrieval.snapshot.manifest import LearnedSection, RankingSection, write_manifest
from retrieval.snapshot.publish import publish, staging_folder
from retrieval.snapshot.reader import Snapshot

_LEARNED = ("use.", "bm25.use.")  # how the names of the files of the learned part begin


def publish_version(
    snapshot: Snapshot,
    store: Path,
    *,
    ranking: RankingSection | None,
    learned: PastRequests | None,
    replaces: str = "",
    published: bool = True,
    signing_key: Path | None = None,
) -> str:
    """Publish a snapshot's content with these weights and this learned part in a store; return the id of the version.

    The files are hard-linked where the file system supports it, else copied. With the shipped weights and without a learned part the
    version is the one that the build wrote, with the same id.

    :param ranking: None for the shipped weights.
    :param replaces: id of the published snapshot when the work began (:func:`retrieval.snapshot.publish.published_id`).
    :param published: False to keep the version in the store beside the published one.
    :param signing_key: as for :func:`retrieval.snapshot.publish.publish`.
    :raises SnapshotError: when another snapshot was published since, perhaps of a newer catalogue.
    :raises SnapshotCorruptError: when a file does not match the manifest.
    :raises StorageError: when a write fails; the published snapshot is then unchanged.
    """
    section = learned and LearnedSection(
        past_requests=len(learned.reporters),
        reporters=learned.reporter_count,
        min_reporters=learned.min_reporters,
        weight=learned.weight,
    )
    kept = {name: info for name, info in snapshot.manifest.files.items() if not name.startswith(_LEARNED)}
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
        sections = {"ranking": ranking, "learned": section}
        manifest = write_manifest(folder, snapshot.manifest.model_copy(update=sections))
        if any(manifest.files[name] != info for name, info in kept.items()):
            problem = "a file was altered while it was copied"
            raise SnapshotCorruptError(problem, subject=str(snapshot.folder), remedy="Build again")
        id_, current = manifest.snapshot_id, replaces if published else None
        publish(store, folder, id_, current=published, replaces=current, signing_key=signing_key)
    return id_
