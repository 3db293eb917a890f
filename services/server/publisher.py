"""Publication on a running server: the new snapshot is loaded, checked and tried beside the old one, then swapped in."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from ontology.errors import EgotoolsError, SnapshotError, UnsupportedError
from retrieval.engine import Engine
from retrieval.query.request import Request
from services.server.background import in_background
from services.server.catalog_store import CatalogStore, Published
from services.server.catalogs import Catalogs
from services.server.error_status import reason_of
from services.server.logs import fields

__all__ = ["Publisher", "Swap"]

_LOG = logging.getLogger("egotools.server")
_LOADS = 2  # at once: each holds a second copy of what its catalogue holds in memory


class Swap(NamedTuple):
    """What is served now, and what was served before; empty if there was nothing."""

    snapshot_id: str
    previous_id: str


class Publisher:
    """Changes what the catalogues of a server serve. Use it in one event loop.

    A snapshot is opened on a thread of its own, with all its checks, and answers the warm query. Only then is it swapped in.
    One that cannot be served changes nothing but the reason that is kept for it.

    :param stores: the catalogues that have a store.
    :param warm_query: the request that a new engine answers first.
    :param swapped: called after each swap.
    :param prepare: called with the tenant and each new engine before it is served, on a thread.
    :param refused: called with tenant, snapshot id and the reason of the error where a snapshot cannot be served; of a watcher,
        which tries again and again, at the first time.
    """

    def __init__(
        self,
        catalogs: Catalogs,
        stores: Mapping[str, CatalogStore],
        *,
        warm_query: str,
        swapped: Callable[[], Awaitable[None]],
        prepare: Callable[[str, Engine], None] = lambda tenant, engine: None,
        refused: Callable[[str, str, str], None] = lambda tenant, snapshot_id, reason: None,
    ) -> None:
        self.catalogs = catalogs
        self.stores = stores
        self._warm_query = warm_query
        self._swapped = swapped
        self._prepare = prepare
        self._refused = refused
        self._locks = {tenant: asyncio.Lock() for tenant in catalogs.tenants}
        self._loads = asyncio.Semaphore(_LOADS)

    async def load(self, tenant: str, load: Callable[[], Engine]) -> Swap:
        """Serve what ``load`` returns. It runs on a thread; its errors are raised, and the old engine serves on."""
        async with self._locks[tenant]:
            return await self._swap(tenant, await self._loaded(tenant, load))

    async def refresh(self, tenant: str) -> Swap:
        """Serve the snapshot that the store of a tenant names as current, unless it is served already.

        :raises EgotoolsError: when it cannot be served; the old one serves on.
        """
        async with self._locks[tenant]:
            store = self.store(tenant)
            served = self.catalogs.state(tenant).snapshot_id
            with self._noting(tenant):
                published = await asyncio.to_thread(store.published)
            if served and published.snapshot_id == served:
                return self._kept(tenant, served, published)
            engine = await self._loaded(tenant, lambda: store.open(published.snapshot_id), published.snapshot_id)
            return await self._swap(tenant, engine, published)

    async def publish(self, tenant: str, snapshot_id: str, actor: str = "") -> Swap:
        """Serve a snapshot of the store of a tenant, and make it the published one.

        :param actor: who asks for it, for the history of the store.
        :raises EgotoolsError: when it cannot be served or the store cannot be written; the old one serves on, and stays the
            published one.
        """
        store = self.store(tenant)
        return await self._move(tenant, snapshot_id, lambda: store.publish(snapshot_id, actor))

    async def rollback(self, tenant: str, snapshot_id: str = "", actor: str = "") -> Swap:
        """Serve an earlier snapshot again, and make it the published one.

        :param snapshot_id: empty for the one that was published before the current one.
        :raises EgotoolsError: as :meth:`publish`; :class:`NotFoundError` when there is no earlier one.
        """
        store = self.store(tenant)
        target = snapshot_id or await asyncio.to_thread(store.rollback_target)
        return await self._move(tenant, target, lambda: store.rollback(target, actor))

    async def reload(self) -> None:
        """Serve what the store of every tenant names as current. What cannot be served is logged, and its reason kept."""
        for result in await asyncio.gather(*map(self.refresh, self.stores), return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, EgotoolsError):
                raise result

    def store(self, tenant: str) -> CatalogStore:
        """Return the store of a tenant.

        :raises UnsupportedError: when its catalogue has none.
        """
        store = self.stores.get(tenant)
        if store is None:
            raise UnsupportedError("this catalogue has no store", subject=tenant or "egotools-tenant")
        return store

    async def _move(self, tenant: str, snapshot_id: str, name_current: Callable[[], None]) -> Swap:
        """Serve a snapshot after its store names it as current."""
        async with self._locks[tenant]:
            store, served = self.store(tenant), self.catalogs.state(tenant).snapshot_id
            engine: Engine | None = None
            if snapshot_id != served:
                engine = await self._loaded(tenant, lambda: store.open(snapshot_id), snapshot_id)
            with self._noting(tenant):
                await asyncio.to_thread(name_current)
                published = await asyncio.to_thread(store.published)
            if engine is None:
                return self._kept(tenant, served, published)
            return await self._swap(tenant, engine, published)

    async def _loaded(self, tenant: str, load: Callable[[], Engine], snapshot_id: str = "") -> Engine:
        """Return an engine that has answered the warm query."""
        request = Request(query=self._warm_query, k=1)

        def work() -> Engine:
            started = time.monotonic()
            engine = load()
            loaded = time.monotonic()
            engine.retriever("").retrieve(request)
            self._prepare(tenant, engine)
            spent = {"load_ms": round((loaded - started) * 1e3), "warm_ms": round((time.monotonic() - loaded) * 1e3)}
            _LOG.info("loaded", extra=fields(tenant=tenant, snapshot_id=engine.snapshot_id, **spent))
            return engine

        with self._noting(tenant, snapshot_id):
            async with self._loads:
                engine = await in_background(work, low_priority=self.catalogs.state(tenant).engine is not None)
        return engine

    async def _swap(self, tenant: str, engine: Engine, published: Published | None = None) -> Swap:
        previous_id = self.catalogs.swap(tenant, engine, published.history if published else ())
        self.catalogs.passed(tenant, engine.snapshot_id)
        if previous_id:
            served = {"snapshot_id": engine.snapshot_id, "previous_id": previous_id}
            _LOG.info("swapped", extra=fields(tenant=tenant, **served))
        await self._swapped()
        return Swap(engine.snapshot_id, previous_id)

    def _kept(self, tenant: str, served_id: str, published: Published) -> Swap:
        self.catalogs.passed(tenant, served_id)
        self.catalogs.add_history(tenant, published.history)
        return Swap(served_id, served_id)

    @contextmanager
    def _noting(self, tenant: str, snapshot_id: str = "") -> Iterator[None]:
        """Log and keep the reason why the block refuses a publication."""
        try:
            yield
        except EgotoolsError as error:
            self._refuse(tenant, snapshot_id, error)
            raise
        except Exception as error:
            _LOG.exception("incident", extra=fields(tenant=tenant, snapshot_id=snapshot_id))
            refused = SnapshotError(
                f"the snapshot cannot be served ({type(error).__name__})",
                subject=snapshot_id or tenant,
                remedy="Build again; the log of the server says where it failed",
            )
            self._refuse(tenant, snapshot_id, refused)
            raise refused from error

    def _refuse(self, tenant: str, snapshot_id: str, error: EgotoolsError) -> None:
        known = self.catalogs.state(tenant).problem
        self.catalogs.refused(tenant, str(error), snapshot_id if isinstance(error, SnapshotError) else "")
        level = logging.DEBUG if known == str(error) else logging.WARNING  # a watcher tries again and again
        if known != str(error):
            self._refused(tenant, snapshot_id, reason_of(error))
        said = {"tenant": tenant, "snapshot_id": snapshot_id, "problem": error.problem, "subject": error.subject}
        _LOG.log(level, "refused", extra=fields(**said))
