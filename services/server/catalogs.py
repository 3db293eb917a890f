"""The catalogues of one server, by tenant: the store of each, and the engine that it serves, which a swap replaces between two calls."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple
from weakref import WeakSet, finalize

from inference.encoder import Encoder, Reranker
from inference.encoder_wrappers import with_recent_vectors
from inference.registry import load_encoder, load_reranker
from ontology.errors import (
    EgotoolsError,
    InvalidArgumentError,
    NotFoundError,
    NotReadyError,
    StaleSnapshotError,
)
from retrieval.engine import Engine, open_engine
from retrieval.ranking.weights import FUSION
from retrieval.snapshot.history import history
from retrieval.snapshot.manifest import MANIFEST
from retrieval.snapshot.publish import SNAPSHOTS, current_snapshot, named_id
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.snapshot_diff import SnapshotDiff, diff_snapshots
from services.server.access.watched_file import stamp
from services.server.calls import fields
from services.server.settings import CatalogEntry, ServerSettings

_LOG = logging.getLogger("egotools.server")
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,127}")
_MAX_ID_CHARS = 256


class Published(NamedTuple):
    """The published snapshot of a store, and the ids of all publications before that, and perhaps it, the oldest first."""

    snapshot_id: str
    history: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogStore:
    """The store of one catalogue. All methods read or write files: call them on a thread."""

    path: Path  # the store
    reranker: str = FUSION  # name of the second ranking stage
    allowed_models: tuple[str, ...] = ()  # see :func:`retrieval.engine.open_engine`
    encoder: Callable[[str], Encoder] = load_encoder  # by name
    second_stage: Callable[[str], Reranker] = load_reranker
    baselines: bool = False  # whether requests may name the presets to compare with

    def open(self, snapshot_id: str = "") -> Engine:
        """Open a snapshot, or the published one, and check its files."""
        return open_engine(
            self._folder(snapshot_id),
            reranker=None if self.reranker == FUSION else self.second_stage(self.reranker),
            load=self.encoder,
            allowed_models=self.allowed_models,
            baselines=self.baselines,
        )

    def published(self) -> Published:
        """Return the published snapshot."""
        earlier: tuple[str, ...] = ()
        try:  # read first: all of it was published before, or is the snapshot that CURRENT names
            earlier = tuple(entry.snapshot_id for entry in history(self.path))
        except EgotoolsError as error:  # it serves requests with min_snapshot only, and CURRENT is the truth
            _LOG.warning("history unreadable", extra=fields(subject=error.subject, problem=error.problem))
        return Published(current_snapshot(self.path).name, earlier)

    def published_at(self, snapshot_id: str) -> float:
        """Return when a snapshot was published last, or else written, in seconds since 1970; 0 where neither is known."""
        try:
            times = [each.time.timestamp() for each in history(self.path) if each.snapshot_id == snapshot_id]
            return times[-1] if times else (self._folder(snapshot_id) / MANIFEST).stat().st_mtime
        except (EgotoolsError, OSError):
            return 0.0

    def mark(self) -> tuple[object, ...]:
        """Return a value that changes whenever the store publishes a snapshot, or the published one gets other files."""
        try:
            name = named_id(self.path)
        except OSError as error:
            name = str(error)
        folder = self.path / SNAPSHOTS / name if _ID.fullmatch(name) else self.path
        return (name, *map(stamp, (self.path / "CURRENT", folder, (folder / MANIFEST))))

    def diff(self, old_id: str, new_id: str) -> SnapshotDiff:
        """Compare two snapshots of the store."""
        return diff_snapshots(open_snapshot(self._folder(old_id)), open_snapshot(self._folder(new_id)))

    def _folder(self, snapshot_id: str) -> Path:
        if not snapshot_id:
            return current_snapshot(self.path)
        remedy = "ListSnapshots gives the ids"
        if not _ID.fullmatch(snapshot_id):
            raise InvalidArgumentError("this is no id of a snapshot", subject="snapshot_id", remedy=remedy)
        folder = self.path / SNAPSHOTS / snapshot_id
        if not (folder / MANIFEST).is_file():
            raise NotFoundError("the store has no such snapshot", subject=snapshot_id, remedy=remedy)
        return folder


def catalog_stores(
    entries: Mapping[str, CatalogEntry], settings: ServerSettings | None = None
) -> dict[str, CatalogStore]:
    """Return the store of each tenant. They share the models of the process; the vectors of its last requests each tenant keeps for itself, from one
    snapshot to the next. InvalidArgumentError for the folder of one snapshot."""
    for entry in entries.values():
        if (entry.store / MANIFEST).is_file():
            problem, remedy = "this is the folder of one snapshot, not a store", "Serve the store that it is in"
            raise InvalidArgumentError(problem, subject=str(entry.store), remedy=remedy)
    settings = settings or ServerSettings()
    encoder = cache(partial(load_encoder, wait_s=settings.model_wait_s))
    second_stage = cache(partial(load_reranker, wait_s=settings.model_wait_s))

    def store(each: CatalogEntry) -> CatalogStore:
        return CatalogStore(
            path=each.store,
            reranker=each.reranker,
            allowed_models=each.allowed_models,
            encoder=cache(lambda name: with_recent_vectors(encoder(name), max_rows=settings.recent_vectors)),
            second_stage=second_stage,
            baselines=settings.baselines,
        )

    return {tenant: store(each) for tenant, each in entries.items()}


@dataclass(slots=True)
class ServedCatalog:
    """What a catalogue serves now."""

    engine: Engine | None = None  # None while no snapshot is loaded
    since: float = 0.0  # when its engine was swapped in, in seconds since 1970; 0 while there is none
    problem: str = ""  # why the last publication was refused; empty if it was not
    problems: dict[str, str] = field(default_factory=dict)  # why single snapshots cannot be served, by id
    old: WeakSet[Engine] = field(default_factory=WeakSet)  # engines that calls still use
    known: set[str] = field(default_factory=set)  # ids of the snapshots that were published up to the served one

    @property
    def snapshot_id(self) -> str:
        """The id of the snapshot that is served; empty without one."""
        return self.engine.snapshot_id if self.engine else ""

    @property
    def draining(self) -> int:
        """Number of old engines that calls still use."""
        return len(self.old)


class Catalogs:
    """Tenant → engine. Use it in one event loop. A call keeps the engine that it began with: all that it answers is
    from this one. An old engine is freed with its last call."""

    def __init__(
        self,
        tenants: Sequence[str],  # one named with the empty string serves calls without a tenant
        *,
        required: Iterable[str] | None,  # those without which the server is not ready; None for all
        drained: Callable[[], None],  # called, on any thread, when an engine that is served no more is freed
        on_swap: Callable[[str, str], None],  # called with tenant and snapshot id at each swap
    ) -> None:
        self._catalogs = {tenant: ServedCatalog() for tenant in tenants}
        # Required ones without an engine; it only shrinks.
        self.missing = set(tenants if required is None else required)
        self._drained, self._on_swap = drained, on_swap

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants, sorted."""
        return tuple(sorted(self._catalogs))

    def state(self, tenant: str) -> ServedCatalog:
        """Return what a catalogue serves now. Only :class:`Publisher` and this class change it."""
        return self._catalogs[tenant]

    def resolve(self, tenant: str) -> str:
        """Return the tenant whose catalogue a call means: the only one of the server, if it names none."""
        if tenant in self._catalogs:
            return tenant
        if tenant:
            raise NotFoundError("this server has no such catalogue", subject=tenant, remedy="Name another tenant")
        if len(self._catalogs) == 1:
            return next(iter(self._catalogs))
        problem = "the server has several catalogues, and the call names none"
        remedy = "Name the tenant in the metadata egotools-tenant"
        raise InvalidArgumentError(problem, subject="egotools-tenant", remedy=remedy)

    def engine(self, tenant: str) -> Engine:
        """Return the engine of a tenant for one call."""
        engine = self._catalogs[tenant].engine
        if engine is None or self.missing:
            raise NotReadyError("the snapshot is still being loaded", remedy="Try again in a moment")
        return engine

    def require_snapshot(self, tenant: str, served_id: str, wanted: str) -> None:
        """Check that the snapshot that answers is not older than ``wanted``, of the request; empty for any."""
        if len(wanted) > _MAX_ID_CHARS:
            problem = f"an id of a snapshot has at most {_MAX_ID_CHARS} characters, not {len(wanted):,}"
            raise InvalidArgumentError(problem, subject="min_snapshot")
        if wanted not in ("", served_id) and wanted not in self._catalogs[tenant].known:
            problem = f"this server serves {served_id}, and does not know that it is newer"
            raise StaleSnapshotError(problem, subject=wanted, remedy="Try again in a moment, or use another replica")

    def swap(self, tenant: str, engine: Engine, history: Iterable[str] = ()) -> str:
        """Serve ``engine`` from the next call on, opened after ``history``; return the id of the snapshot served before, empty for none."""
        catalog = self._catalogs[tenant]
        before, catalog.engine = catalog.engine, engine
        catalog.since = time.time()
        self.passed(tenant, history)
        self.missing.discard(tenant)
        self._on_swap(tenant, engine.snapshot_id)
        if before is None:
            return ""
        catalog.old.add(before)
        before_id = before.snapshot_id

        def freed() -> None:
            _LOG.info("drained", extra=fields(tenant=tenant, snapshot_id=before_id))
            self._drained()

        finalize(before, freed).atexit = False
        return before_id

    def passed(self, tenant: str, history: Iterable[str] = ()) -> None:
        """Note that the store names the served snapshot as current, after ``history``, and that nothing is known against it."""
        catalog = self._catalogs[tenant]
        catalog.problem = ""
        catalog.problems.pop(catalog.snapshot_id, None)
        catalog.known |= {*history, catalog.snapshot_id}
