"""The store of one catalogue: which snapshot it publishes, and how a snapshot of it becomes an engine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from inference.shared_models import SharedModels
from ontology.errors import InvalidArgumentError, NotFoundError
from retrieval.engine import Engine
from retrieval.ranking.weights import FUSION
from retrieval.snapshot.layout import Layout
from retrieval.snapshot.manifest import read_manifest
from retrieval.snapshot.publish import SNAPSHOTS, publish_again, published_id
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.snapshot_diff import SnapshotDiff, diff_snapshots
from retrieval.snapshot_engine import open_engine
from services.server.catalogs_file import CatalogEntry

__all__ = ["CatalogStore", "Published", "StoreMark", "StoredSnapshot", "catalog_stores"]

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,127}")
StoreMark: TypeAlias = tuple[object, ...]


class Published(NamedTuple):
    """The published snapshot of a store.

    :param snapshot_id: empty if there is none.
    :param history: ids of all publications before that, and perhaps it, the oldest first.
    """

    snapshot_id: str
    history: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogStore:
    """The store of one catalogue. All methods read or write files: call them on a thread.

    :param path: the store; or the folder of one snapshot, which is then always the published one.
    :param reranker: name of the second ranking stage.
    :param allowed_models: see :func:`retrieval.snapshot_engine.open_engine`.
    :param models: of the process.
    """

    path: Path
    reranker: str = FUSION
    allowed_models: tuple[str, ...] = ()
    models: SharedModels = field(default_factory=SharedModels)

    def open(self, snapshot_id: str = "") -> Engine:
        """Open a snapshot and check its files.

        :param snapshot_id: empty for the published one.
        :raises EgotoolsError: when it, or a model, cannot be used.
        """
        reranker = None if self.reranker == FUSION else self.models.reranker(self.reranker)
        return open_engine(
            self._folder(snapshot_id),
            reranker=reranker,
            allowed_models=self.allowed_models,
            load=self.models.encoder,
        )

    def published(self) -> Published:
        """Return the published snapshot.

        :raises SnapshotError: when ``CURRENT`` is damaged.
        """
        return Published(published_id(self.path), ())

    def publish(self, snapshot_id: str) -> None:
        """Make a snapshot of the store the published one.

        :raises StorageError: when a write fails; the published one is then unchanged.
        """
        publish_again(self.path, snapshot_id)

    def mark(self) -> StoreMark:
        """Return a value that changes whenever the store publishes a snapshot, or the published one gets other files."""
        current = self.path / "CURRENT"
        try:
            name = published_id(self.path)
        except Exception as error:  # a damaged CURRENT: its error is reported when it is loaded
            name = str(error)
        folder = self.path / SNAPSHOTS / name if _ID.fullmatch(name) else self.path
        return (name, *(_stat(path) for path in (current, folder, Layout(folder).manifest)))

    def snapshots(self) -> Iterable[StoredSnapshot]:
        """Return the snapshots of the store, newest publication first."""
        for folder in sorted((self.path / SNAPSHOTS).glob("*")):
            manifest = read_manifest(Layout(folder))
            size = sum(file.bytes for file in manifest.files.values())
            yield StoredSnapshot(manifest.snapshot_id, manifest.counts.tools, size, None)

    def diff(self, old_id: str, new_id: str) -> SnapshotDiff:
        """Compare two snapshots of the store.

        :raises NotFoundError: when it has none with such an id.
        :raises SnapshotError: when one cannot be read.
        """
        return diff_snapshots(open_snapshot(self._folder(old_id)), open_snapshot(self._folder(new_id)))

    def _folder(self, snapshot_id: str) -> Path:
        if not snapshot_id or Layout(self.path).manifest.is_file():
            return self.path
        if not _ID.fullmatch(snapshot_id):
            raise InvalidArgumentError(
                "this is no id of a snapshot", subject="snapshot_id", remedy="ListSnapshots gives the ids"
            )
        folder = self.path / SNAPSHOTS / snapshot_id
        if not Layout(folder).manifest.is_file():
            raise NotFoundError(
                "the store has no such snapshot", subject=snapshot_id, remedy="ListSnapshots gives the ids"
            )
        return folder


def catalog_stores(entries: dict[str, CatalogEntry]) -> dict[str, CatalogStore]:
    """Return the store of each tenant; they share the models of the process."""
    models = SharedModels()
    return {
        tenant: CatalogStore(
            path=entry.store, reranker=entry.reranker, allowed_models=entry.allowed_models, models=models
        )
        for tenant, entry in entries.items()
    }


def _stat(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size
