"""A new version of a snapshot: its files, but for some that are written anew, under a manifest with other sections."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ontology.errors import SnapshotCorruptError
from retrieval.learned import PastRequests, write_past_requests
from retrieval.snapshot.manifest import LearnedSection, RankingSection, write_manifest
from retrieval.snapshot.publish import publish, staging_folder
from retrieval.snapshot.reader import Snapshot

__all__ = ["publish_learned", "publish_reweighted", "rolled_back", "tuned_after"]


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
