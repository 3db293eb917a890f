"""The catalogues of one server, by tenant. Each serves one engine; a swap replaces it between two calls."""

from __future__ import annotations

import itertools
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from inference.encoder import Encoder
from inference.encoder_wrappers import MAX_ROWS, SharedModels, with_recent_vectors
from ontology.errors import (
    EgotoolsError,
    InvalidArgumentError,
    NotFoundError,
    NotReadyError,
    StaleSnapshotError,
    UnsupportedError,
)
from retrieval.engine import Engine, open_engine
from retrieval.ranking.weights import FUSION
from retrieval.snapshot.collect import tidy
from retrieval.snapshot.history import StoredSnapshot, history, list_snapshots, rollback_target
from retrieval.snapshot.manifest import Layout, read_manifest
from retrieval.snapshot.publish import SNAPSHOTS, current_snapshot, named_id, publish_again
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.snapshot_diff import SnapshotDiff, diff_snapshots
from services.server.logs import fields
from services.server.reports import OUTCOMES
from services.server.settings import CatalogEntry

__all__ = ["CatalogStore", "Catalogs", "Published", "ServedCatalog", "catalog_stores"]

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
    :param allowed_models: see :func:`retrieval.engine.open_engine`.
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


_KEPT_IDS = 10_000


class ServedCatalog(NamedTuple):
    """What a catalogue serves now.

    :param engine: None while no snapshot is loaded.
    :param since: when it was swapped in, in seconds since 1970; 0 while there is none.
    :param problem: why the last publication was refused; empty if it was not.
    :param draining: number of calls that still use an older engine.
    """

    tenant: str
    engine: Engine | None
    since: float
    problem: str
    draining: int

    @property
    def snapshot_id(self) -> str:
        """The id of the snapshot that is served; empty without one."""
        return self.engine.snapshot_id if self.engine else ""


@dataclass(slots=True, eq=False)
class _Served:
    """One engine with the number of the calls that use it."""

    engine: Engine
    leases: int = 0


@dataclass(slots=True)
class _Catalog:
    served: _Served | None = None
    since: float = 0.0
    problem: str = ""
    problems: dict[str, str] = field(default_factory=dict)  # of single snapshots, by id
    retired: list[_Served] = field(default_factory=list)
    order: dict[str, int] = field(
        default_factory=dict
    )  # snapshot id → when it was published last; a larger number is later
    seen: int = 0  # publications of the store's history that are in ``order``


class Catalogs:
    """Tenant → engine. Use it in one event loop.

    :param tenants: the catalogues of the server; one named with the empty string serves calls without a tenant.
    :param required: those without which the server is not ready; None for all.
    :param drained: called with tenant and snapshot id when the last call of an engine that is served no more has ended.
    :param on_swap: called with tenant and snapshot id at each swap.
    """

    def __init__(
        self,
        tenants: Sequence[str] = ("",),
        *,
        required: Iterable[str] | None = None,
        drained: Callable[[str, str], None] = lambda tenant, snapshot_id: None,
        on_swap: Callable[[str, str], None] = lambda tenant, snapshot_id: None,
    ) -> None:
        self._catalogs = {tenant: _Catalog() for tenant in tenants}
        self._missing = set(tenants if required is None else required)
        self._drained = drained
        self._on_swap = on_swap
        self._clock = itertools.count()

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants, sorted."""
        return tuple(sorted(self._catalogs))

    @property
    def ready(self) -> bool:
        """Whether every required catalogue has an engine. It stays true: an engine is only replaced by another."""
        return not self._missing

    def is_missing(self, tenant: str) -> bool:
        """Whether a required catalogue has no engine yet."""
        return tenant in self._missing

    def resolve(self, tenant: str) -> str:
        """Return the tenant whose catalogue a call means: the only one of the server, if it names none.

        :raises NotFoundError: when the server has no such catalogue.
        :raises InvalidArgumentError: when it names none of several.
        """
        if tenant in self._catalogs:
            return tenant
        if tenant:
            raise NotFoundError("this server has no such catalogue", subject=tenant, remedy="Name another tenant")
        if len(self._catalogs) == 1:
            return next(iter(self._catalogs))
        raise InvalidArgumentError(
            "the server has several catalogues, and the call names none",
            subject="egotools-tenant",
            remedy="Name the tenant in the metadata egotools-tenant",
        )

    @contextmanager
    def lease(self, tenant: str) -> Iterator[Engine]:
        """Yield the engine of a tenant for one call: all that the call answers is from this engine.

        :raises NotFoundError: when the server has no such catalogue.
        :raises NotReadyError: while a required catalogue has no engine, or this one has none.
        """
        tenant = self.resolve(tenant)
        served = self._catalogs[tenant].served
        if served is None or self._missing:
            raise NotReadyError("the snapshot is still being loaded", remedy="Try again in a moment")
        served.leases += 1
        try:
            yield served.engine
        finally:
            served.leases -= 1
            self._release(tenant, served)

    def require_snapshot(self, tenant: str, served_id: str, wanted: str) -> None:
        """Check that a snapshot is not older than the one that a request asks for.

        :param served_id: of the engine that answers.
        :param wanted: ``min_snapshot`` of the request; empty for any.
        :raises StaleSnapshotError: when ``wanted`` was published after it, or is not known.
        """
        if not wanted or wanted == served_id:
            return
        order = self._catalogs[self.resolve(tenant)].order
        if wanted in order and order[wanted] < order.get(served_id, -1):
            return
        raise StaleSnapshotError(
            f"this server serves {served_id}, and does not know that it is newer",
            subject=wanted,
            remedy="Try again in a moment, or use another replica",
        )

    def swap(self, tenant: str, engine: Engine, history: Sequence[str] = ()) -> str:
        """Serve ``engine`` from the next call on. The old one is dropped when its last call has ended.

        :param history: ids of the publications of the store, the oldest first, as they were before the engine was opened.
        :returns: the id of the snapshot that was served before; empty if there was none.
        """
        catalog = self._catalogs[tenant]
        before, catalog.served = catalog.served, _Served(engine)
        catalog.since = time.time()
        self.add_history(tenant, history)
        self._missing.discard(tenant)
        self._on_swap(tenant, engine.snapshot_id)
        if before is None:
            return ""
        catalog.retired.append(before)
        self._release(tenant, before)
        return before.engine.snapshot_id

    def add_history(self, tenant: str, history: Sequence[str]) -> None:
        """Note publications of the store, the oldest first. Call it only while the store names the served snapshot as current: that
        counts as the latest.
        """
        catalog = self._catalogs[tenant]
        if len(history) < catalog.seen:  # the store was replaced, or its history cut
            catalog.seen = 0
        for snapshot_id in history[catalog.seen :]:
            catalog.order[snapshot_id] = next(self._clock)
        catalog.seen = len(history)
        if catalog.served is not None:
            catalog.order[catalog.served.engine.snapshot_id] = next(self._clock)
        if len(catalog.order) > _KEPT_IDS:
            for snapshot_id in sorted(catalog.order, key=catalog.order.__getitem__)[:-_KEPT_IDS]:
                del catalog.order[snapshot_id]

    def refused(self, tenant: str, problem: str, snapshot_id: str = "") -> None:
        """Note why a publication was refused; the old engine serves on.

        :param snapshot_id: of the snapshot that cannot be served; empty where it is not known.
        """
        catalog = self._catalogs[tenant]
        catalog.problem = problem
        if snapshot_id:
            catalog.problems[snapshot_id] = problem

    def passed(self, tenant: str, snapshot_id: str) -> None:
        """Note that nothing is known against a snapshot any more, and that the last publication was not refused."""
        catalog = self._catalogs[tenant]
        catalog.problem = ""
        catalog.problems.pop(snapshot_id, None)

    def problem_of(self, tenant: str, snapshot_id: str) -> str:
        """Return why a snapshot cannot be served; empty if nothing is known against it."""
        return self._catalogs[tenant].problems.get(snapshot_id, "")

    def state(self, tenant: str) -> ServedCatalog:
        """Return what a catalogue serves now."""
        catalog = self._catalogs[tenant]
        return ServedCatalog(
            tenant=tenant,
            engine=catalog.served.engine if catalog.served else None,
            since=catalog.since,
            problem=catalog.problem,
            draining=sum(old.leases for old in catalog.retired),
        )

    def _release(self, tenant: str, served: _Served) -> None:
        """Drop an engine that is served no more and that no call uses: its last reference frees its memory."""
        retired = self._catalogs[tenant].retired
        if served.leases or served not in retired:
            return
        retired.remove(served)
        self._drained(tenant, served.engine.snapshot_id)
