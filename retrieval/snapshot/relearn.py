"""A new version of a snapshot: the same content with what was learned from use, or without it."""

from __future__ import annotations

from pathlib import Path

from retrieval.learned import PastRequests, write_past_requests
from retrieval.snapshot.manifest import LearnedSection
from retrieval.snapshot.publish_version import publish_version
from retrieval.snapshot.reader import Snapshot

__all__ = ["publish_learned"]

_PREFIXES = ("use.", "bm25.use.")


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

    Without a learned part the new version is the one that the build wrote, with the same id.

    :param learned: None for no learned part.
    :param replaces: id of the published snapshot when the work began (:func:`retrieval.snapshot.publish.published_id`).
    :param published: False to keep the new version in the store beside the published one.
    :param signing_key: as for :func:`retrieval.snapshot.publish.publish`.
    :raises SnapshotError: when another snapshot was published since.
    :raises SnapshotCorruptError: when a file does not match the manifest.
    :raises StorageError: when a write fails; the published snapshot is then unchanged.
    """

    def write(folder: Path) -> None:
        if learned is not None:
            write_past_requests(folder, learned)

    section = learned and LearnedSection(
        past_requests=learned.size,
        reporters=learned.reporter_count,
        min_reporters=learned.min_reporters,
        weights={"requests": learned.weight},
    )
    return publish_version(
        snapshot,
        store,
        {"learned": section},
        rewritten=_PREFIXES,
        write=write,
        replaces=replaces,
        published=published,
        signing_key=signing_key,
    )
