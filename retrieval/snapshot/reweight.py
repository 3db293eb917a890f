"""A new version of a snapshot: the same content with other ranking weights, which remember those before them."""

from __future__ import annotations

from pathlib import Path

from retrieval.snapshot.manifest import RankingSection
from retrieval.snapshot.publish_version import publish_version
from retrieval.snapshot.reader import Snapshot

__all__ = ["publish_reweighted", "rolled_back", "tuned_after"]

_REMEMBERED = 5
"""Weights that a snapshot remembers. Chosen, not tuned."""


def tuned_after(now: RankingSection | None, chosen: RankingSection | None) -> RankingSection | None:
    """Return the section of weights that take the place of others, which it remembers; None for the shipped weights.

    :param now: the weights of the snapshot; None for the shipped ones.
    :param chosen: the weights that it is to have.
    """
    if chosen is None or now is None:
        return chosen
    earlier = (now.weights, *(now.earlier or ()))[:_REMEMBERED]
    return chosen.model_copy(update={"earlier": earlier})


def rolled_back(now: RankingSection) -> RankingSection | None:
    """Return the section of the weights before these; None where they were the shipped ones."""
    if not now.earlier:
        return None
    before, *rest = now.earlier
    return RankingSection(ranker=now.ranker, weights=before, earlier=tuple(rest) or None)


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
    return publish_version(
        snapshot,
        store,
        {"ranking": ranking},
        replaces=replaces,
        published=published,
        signing_key=signing_key,
    )
