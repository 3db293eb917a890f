"""Publication on a running server: what a store publishes is loaded, checked and tried beside the old snapshot, then swapped in."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeVar

from ontology.errors import EgotoolsError, SnapshotError, UnsupportedError
from retrieval.engine import Engine
from retrieval.query.request import Request
from services.server.calls import fields, reason_of
from services.server.catalogs import Catalogs, CatalogStore, Published

_LOG = logging.getLogger("egotools.server")
_T = TypeVar("_T")
_NICE = 10
_LOADS = 2  # at once: each holds a second copy of what its catalogue holds in memory
_MOST_WAIT_S = 60.0


async def in_background(work: Callable[[], _T], *, low_priority: bool = True) -> _T:
    """Run ``work`` on a thread of its own, with low priority where the system can do that for one thread, and return its result."""

    def lower_priority() -> None:
        if low_priority and sys.platform == "linux":  # elsewhere the priority is that of the whole process
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)

    pool = ThreadPoolExecutor(1, thread_name_prefix="egotools-background", initializer=lower_priority)
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, work)
    finally:
        pool.shutdown(wait=False)


class Publisher:
    """Changes what the catalogues of a server serve. Use it in one event loop. A snapshot is opened on a thread of its
    own, with all its checks, and answers the warm query. Only then is it swapped in. One that cannot be served changes
    nothing but the reason that is kept for it."""

    def __init__(
        self,
        catalogs: Catalogs,
        stores: Mapping[str, CatalogStore],
        *,
        warm_query: str,
        swapped: Callable[[], Awaitable[None]],
        prepare: Callable[[str, Engine], None],  # with the tenant and each new engine before it is served, on a thread
        refused: Callable[[str, str, str], None],  # tenant, snapshot id, reason of the error; once for a reason
    ) -> None:
        self.catalogs, self.stores = catalogs, stores
        self._warm_query, self._swapped, self._prepare, self._refused = warm_query, swapped, prepare, refused
        self._locks = {tenant: asyncio.Lock() for tenant in catalogs.tenants}
        self._loads = asyncio.Semaphore(_LOADS)

    async def load(self, tenant: str, load: Callable[[], Engine]) -> None:
        """Serve what ``load`` returns. It runs on a thread; its errors are raised, and the old engine serves on."""
        async with self._locks[tenant]:
            await self._swap(tenant, await self._loaded(tenant, load), Published("", ()))

    async def refresh(self, tenant: str) -> None:
        """Serve the snapshot that the store of a tenant names as current, unless it is served already."""
        async with self._locks[tenant]:
            store = self.store(tenant)
            with self._noting(tenant):
                published = await asyncio.to_thread(store.published)
            if published.snapshot_id == self.catalogs.state(tenant).snapshot_id:
                return self.catalogs.passed(tenant, published.history)
            engine = await self._loaded(tenant, lambda: store.open(published.snapshot_id), published.snapshot_id)
            await self._swap(tenant, engine, published)

    async def reload(self) -> None:
        """Serve what the store of every tenant names as current. What cannot be served is logged, and its reason kept."""
        for result in await asyncio.gather(*map(self.refresh, self.stores), return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, EgotoolsError):
                raise result

    async def watch(self, tenant: str, every_s: float) -> None:
        """Look at the store of a tenant again and again, until cancelled, and serve what it publishes. A publication
        renames folders and files into place, so a look never meets a part of one. What was refused is tried again when
        its files change, and after 1, 2, 4, … 60 s: its files may still be on their way, or a model may be down."""
        store, seen, wait_s, again = self.stores[tenant], None, 0.0, 0.0
        while True:
            await asyncio.sleep(every_s)
            try:
                mark = await asyncio.to_thread(store.mark)
                if mark == seen and (not wait_s or time.monotonic() < again):
                    continue
                wait_s = min(2 * wait_s, _MOST_WAIT_S) if mark == seen else 1.0
                seen, again = mark, time.monotonic() + wait_s
                with suppress(EgotoolsError):  # it is logged, and its reason kept
                    await self.refresh(tenant)
                    wait_s = 0.0
            except Exception:  # of the disk, perhaps: the next look may do
                _LOG.exception("incident")

    def store(self, tenant: str) -> CatalogStore:
        """Return the store of a tenant."""
        store = self.stores.get(tenant)
        if store is None:
            raise UnsupportedError("this catalogue has no store", subject=tenant or "egotools-tenant")
        return store

    async def _loaded(self, tenant: str, load: Callable[[], Engine], snapshot_id: str = "") -> Engine:
        """Return an engine that has answered the warm query."""

        def work() -> Engine:
            started = time.monotonic()
            engine = load()
            loaded = time.monotonic()
            engine.retriever("").retrieve(Request(query=self._warm_query, k=1))
            self._prepare(tenant, engine)
            spent = {"load_ms": round((loaded - started) * 1e3), "warm_ms": round((time.monotonic() - loaded) * 1e3)}
            _LOG.info("loaded", extra=fields(tenant=tenant, snapshot_id=engine.snapshot_id, **spent))
            return engine

        with self._noting(tenant, snapshot_id):
            async with self._loads:
                return await in_background(work, low_priority=self.catalogs.state(tenant).engine is not None)

    async def _swap(self, tenant: str, engine: Engine, published: Published) -> None:
        previous_id = self.catalogs.swap(tenant, engine, published.history)
        if previous_id:
            _LOG.info("swapped", extra=fields(tenant=tenant, snapshot_id=engine.snapshot_id, previous_id=previous_id))
        await self._swapped()

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
            problem = f"the snapshot cannot be served ({type(error).__name__})"
            remedy = "Build again; the log of the server says where it failed"
            refused = SnapshotError(problem, subject=snapshot_id or tenant, remedy=remedy)
            self._refuse(tenant, snapshot_id, refused)
            raise refused from error

    def _refuse(self, tenant: str, snapshot_id: str, error: EgotoolsError) -> None:
        catalog = self.catalogs.state(tenant)
        is_new = catalog.problem != str(error)  # a watcher tries again and again
        catalog.problem = str(error)
        if is_new:
            self._refused(tenant, snapshot_id, reason_of(error))
        said = {"tenant": tenant, "snapshot_id": snapshot_id, "problem": error.problem, "subject": error.subject}
        _LOG.log(logging.WARNING if is_new else logging.DEBUG, "refused", extra=fields(**said))
