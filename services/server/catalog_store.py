"""The store of one catalogue: which snapshot it publishes, and how a snapshot of it becomes an engine."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from inference.encoder import Encoder
from inference.recent_vectors import MAX_ROWS, with_recent_vectors
from inference.shared_models import SharedModels
from ontology.errors import EgotoolsError, InvalidArgumentError, NotFoundError, UnsupportedError
from retrieval.engine import Engine
from retrieval.ranking.weights import FUSION
from retrieval.snapshot.collect import tidy
from retrieval.snapshot.history import StoredSnapshot, history, list_snapshots, rollback_target
from retrieval.snapshot.layout import Layout
from retrieval.snapshot.manifest import read_manifest
from retrieval.snapshot.publish import SNAPSHOTS, current_snapshot, named_id, publish_again
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.snapshot_diff import SnapshotDiff, diff_snapshots
from retrieval.snapshot_engine import open_engine
from services.server.catalogs_file import CatalogEntry
from services.server.logs import fields
from services.server.reports import OUTCOMES

__all__ = ["CatalogStore", "Published", "StoreMark", "catalog_stores"]

_LOG = logging.getLogger("egotools.server")
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
    :param recent_vectors: vectors of requests that each engine keeps: none is shared between tenants.
    :param baselines: whether requests may name the presets to compare with.
    """

    path: Path
    reranker: str = FUSION
    allowed_models: tuple[str, ...] = ()
    models: SharedModels = field(default_factory=SharedModels)
    recent_vectors: int = MAX_ROWS
    baselines: bool = False

    def open(self, snapshot_id: str = "") -> Engine:
        """Open a snapshot and check its files.

        :param snapshot_id: empty for the published one.
        :raises EgotoolsError: when it, or a model, cannot be used.
        """
        reranker = None if self.reranker == FUSION else self.models.reranker(self.reranker)
        folder = self._folder(snapshot_id)

        def load(name: str) -> Encoder:
            return with_recent_vectors(self.models.encoder(name), max_rows=self.recent_vectors)

        return open_engine(
            folder,
            reranker=reranker,
            allowed_models=self.allowed_models,
            load=load,
            baselines=self.baselines,
        )

    def tidy(self) -> None:
        """Remove what killed publications left in the store, as far as this process may."""
        if not self._is_snapshot:
            tidy(self.path)

    def published(self) -> Published:
        """Return the published snapshot.

        :raises NotFoundError: when there is none.
        :raises SnapshotError: when the store or ``CURRENT`` is damaged.
        """
        if self._is_snapshot:
            snapshot_id = read_manifest(Layout(self.path)).snapshot_id
            return Published(snapshot_id, ())
        earlier = self._history()  # read first: all of it was published before, or is the snapshot that CURRENT names
        return Published(current_snapshot(self.path).name, earlier)

    def published_at(self, snapshot_id: str) -> float:
        """Return when a snapshot was published last, in seconds since 1970; without an entry of the history, when its manifest was
        written; 0 where neither is known.
        """
        try:
            entries = () if self._is_snapshot else history(self.path)
            times = [each.time.timestamp() for each in entries if each.snapshot_id == snapshot_id]
            return times[-1] if times else Layout(self._folder(snapshot_id)).manifest.stat().st_mtime
        except (EgotoolsError, OSError):
            return 0.0

    @property
    def outcomes(self) -> Path | None:
        """The folder of the outcomes that agents report; None for the folder of one snapshot, which nothing is written to."""
        return None if self._is_snapshot else self.path / OUTCOMES

    def publish(self, snapshot_id: str, actor: str = "") -> None:
        """Make a snapshot of the store the published one.

        :raises StorageError: when a write fails; the published one is then unchanged.
        """
        publish_again(self._store(), snapshot_id, actor=actor)

    def rollback(self, snapshot_id: str, actor: str = "") -> None:
        """Make an earlier snapshot the published one again, which has been checked.

        :raises StorageError: when a write fails; the published one is then unchanged.
        """
        publish_again(self._store(), snapshot_id, action="rollback", actor=actor)

    def rollback_target(self) -> str:
        """Return the id of the snapshot that was published before the current one.

        :raises NotFoundError: when there is none.
        """
        return rollback_target(self._store())

    def mark(self) -> StoreMark:
        """Return a value that changes whenever the store publishes a snapshot, or the published one gets other files."""
        current = self.path / "CURRENT"
        try:
            name = named_id(self.path)
        except OSError as error:
            name = str(error)
        folder = self.path / SNAPSHOTS / name if _ID.fullmatch(name) else self.path
        return (name, *(_stat(path) for path in (current, folder, Layout(folder).manifest)))

    def snapshots(self) -> tuple[StoredSnapshot, ...]:
        """Return the snapshots of the store, newest publication first.

        :raises SnapshotError: when the store cannot be read.
        """
        return list_snapshots(self._store())

    def diff(self, old_id: str, new_id: str) -> SnapshotDiff:
        """Compare two snapshots of the store.

        :raises NotFoundError: when it has none with such an id.
        :raises SnapshotError: when one cannot be read.
        """
        return diff_snapshots(open_snapshot(self._folder(old_id)), open_snapshot(self._folder(new_id)))

    @property
    def _is_snapshot(self) -> bool:
        return Layout(self.path).manifest.is_file()

    def _store(self) -> Path:
        if self._is_snapshot:
            raise UnsupportedError(
                "this catalogue is the folder of one snapshot, not a store", remedy="Serve the store that it is in"
            )
        return self.path

    def _history(self) -> tuple[str, ...]:
        try:
            return tuple(entry.snapshot_id for entry in history(self.path))
        except EgotoolsError as error:  # it serves requests with min_snapshot only, and CURRENT is the truth
            _LOG.warning("history unreadable", extra=fields(subject=error.subject, problem=error.problem))
            return ()

    def _folder(self, snapshot_id: str) -> Path:
        if self._is_snapshot:
            return self.path
        if not snapshot_id:
            return current_snapshot(self.path)
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


def catalog_stores(
    entries: Mapping[str, CatalogEntry],
    models: SharedModels | None = None,
    *,
    recent_vectors: int = MAX_ROWS,
    baselines: bool = False,
) -> dict[str, CatalogStore]:
    """Return the store of each tenant; they share the models of the process."""
    models = models or SharedModels()
    return {
        tenant: CatalogStore(
            path=entry.store,
            reranker=entry.reranker,
            allowed_models=entry.allowed_models,
            models=models,
            recent_vectors=recent_vectors,
            baselines=baselines,
        )
        for tenant, entry in entries.items()
    }


def _stat(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size
