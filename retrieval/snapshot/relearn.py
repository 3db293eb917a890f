"""A new version of a snapshot: the same content with what was learned from use, or without it."""

from __future__ import annotations

from pathlib import Path

from ontology.errors import SnapshotCorruptError
from retrieval.index.learned_use import LearnedUse, write_learned_use
from retrieval.snapshot.manifest import LearnedSection, write_manifest
from retrieval.snapshot.publish import publish, staging_folder
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.reweight import link_or_copy

__all__ = ["publish_learned"]

_PREFIXES = ("use.", "bm25.use.")


def publish_learned(
    snapshot: Snapshot,
    store: Path,
    learned: LearnedUse | None,
    *,
    replaces: str = "",
    published: bool = True,
    signing_key: Path | None = None,
) -> str:
    """Publish the snapshot's content with another learned part in a store; return the id of the new version.

    The changes in the log of the snapshot go over to the new version.

    Without a learned part the new version is the one that the build wrote, with the same id.

    :param learned: None for no learned part.
    :param replaces: id of the published snapshot when the work began (:func:`retrieval.snapshot.publish.published_id`).
    :param published: False to keep the new version in the store beside the published one.
    :param signing_key: as for :func:`retrieval.snapshot.publish.publish`.
    :raises SnapshotError: when another snapshot was published since.
    :raises SnapshotCorruptError: when a file does not match the manifest.
    :raises StorageError: when a write fails; the published snapshot is then unchanged.
    """
    kept = {name: info for name, info in snapshot.manifest.files.items() if not name.startswith(_PREFIXES)}
    with staging_folder(store) as folder:
        for name in sorted(kept):
            link_or_copy(snapshot.layout.folder / name, folder / name)
        if learned is not None:
            write_learned_use(folder, learned)
        manifest = write_manifest(folder, snapshot.manifest.model_copy(update={"learned": _section(learned)}))
        if {name: manifest.files.get(name) for name in kept} != kept:
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


def _section(learned: LearnedUse | None) -> LearnedSection | None:
    if learned is None:
        return None
    return LearnedSection(
        past_requests=learned.size,
        pairs=len(learned.used_with.heads),
        reporters=len(set(learned.reporters.tolist())),
        min_reporters=learned.min_reporters,
        weights={"requests": learned.request_weight, "pairs": learned.pair_weight},
    )
