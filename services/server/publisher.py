"""Publication on a running server: a new snapshot is loaded, checked and tried beside the old one, then swapped in; and the admin service."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import grpc

from egotools.v1 import admin_pb2 as pb
from egotools.v1 import admin_pb2_grpc as pb_grpc
from ontology.errors import EgotoolsError, NotReadyError, SnapshotError, UnsupportedError
from retrieval.engine import Engine
from retrieval.query.request import Request
from retrieval.snapshot.history import list_snapshots, rollback_target
from retrieval.snapshot.publish import publish_again
from services.server.calls import add_log_fields, current_call, fields, reason_of
from services.server.catalogs import Catalogs, CatalogStore, Published

_LOG = logging.getLogger("egotools.server")
_T = TypeVar("_T")
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_NICE = 10
_LOADS = 2  # at once: each holds a second copy of what its catalogue holds in memory
_MOST_WAIT_S = 60.0
_MAX_LISTED = 10_000


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


class Swap(NamedTuple):
    """What is served now, and what was served before; empty if there was nothing."""

    snapshot_id: str
    previous_id: str


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

    async def load(self, tenant: str, load: Callable[[], Engine]) -> Swap:
        """Serve what ``load`` returns. It runs on a thread; its errors are raised, and the old engine serves on."""
        async with self._locks[tenant]:
            return await self._swap(tenant, await self._loaded(tenant, load), Published("", ()))

    async def refresh(self, tenant: str) -> Swap:
        """Serve the snapshot that the store of a tenant names as current, unless it is served already."""
        async with self._locks[tenant]:
            store = self.store(tenant)
            with self._noting(tenant):
                published = await asyncio.to_thread(store.published)
            return await self._serve(tenant, store, published.snapshot_id, lambda: published)

    async def publish(
        self, tenant: str, snapshot_id: str, actor: str = "", *, action: Literal["publish", "rollback"] = "publish"
    ) -> Swap:
        """Serve a snapshot of the store of a tenant, and make it the published one; ``actor`` asks for it, for the history of the store."""
        store = self.store(tenant)

        def published() -> Published:
            publish_again(store.path, snapshot_id, action=action, actor=actor)
            return store.published()

        async with self._locks[tenant]:
            return await self._serve(tenant, store, snapshot_id, published)

    async def rollback(self, tenant: str, snapshot_id: str = "", actor: str = "") -> Swap:
        """As :meth:`publish`, of an earlier snapshot; without an id the one that was published before the current one."""
        target = snapshot_id or await asyncio.to_thread(rollback_target, self.store(tenant).path)
        return await self.publish(tenant, target, actor, action="rollback")

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

    async def _serve(
        self, tenant: str, store: CatalogStore, snapshot_id: str, published: Callable[[], Published]
    ) -> Swap:
        """Serve a snapshot, once ``published`` has made it, or found it as, the current one."""
        engine = None
        served_id = self.catalogs.state(tenant).snapshot_id
        if snapshot_id != served_id:
            engine = await self._loaded(tenant, lambda: store.open(snapshot_id), snapshot_id)
        with self._noting(tenant):
            found = await asyncio.to_thread(published)
        if engine is not None:
            return await self._swap(tenant, engine, found)
        self.catalogs.passed(tenant, found.history)
        return Swap(served_id, served_id)

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

    async def _swap(self, tenant: str, engine: Engine, published: Published) -> Swap:
        swap = Swap(engine.snapshot_id, self.catalogs.swap(tenant, engine, published.history))
        if swap.previous_id:
            _LOG.info("swapped", extra=fields(tenant=tenant, **swap._asdict()))
        await self._swapped()
        return swap

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
        if snapshot_id and isinstance(error, SnapshotError):
            catalog.problems[snapshot_id] = catalog.problem
        if is_new:
            self._refused(tenant, snapshot_id, reason_of(error))
        said = {"tenant": tenant, "snapshot_id": snapshot_id, "problem": error.problem, "subject": error.subject}
        _LOG.log(logging.WARNING if is_new else logging.DEBUG, "refused", extra=fields(**said))


class CatalogAdmin(pb_grpc.CatalogAdminServicer):
    """The service ``egotools.v1.CatalogAdmin``. A change that has begun is finished, also when its caller has gone: a
    server is never between two snapshots."""

    def __init__(self, catalogs: Catalogs, publisher: Publisher) -> None:
        self._catalogs, self._publisher = catalogs, publisher
        self._comparing = asyncio.Semaphore(1)  # it reads whole catalogues
        self._unfinished: set[asyncio.Task[Any]] = set()

    async def Publish(self, request: pb.PublishRequest, context: _Context) -> pb.PublishResponse:
        """Serve another snapshot, and make it the published one."""
        tenant = self._tenant()
        if request.snapshot_id:
            return await self._swapped(self._publisher.publish(tenant, request.snapshot_id, current_call().caller.name))
        return await self._swapped(self._publisher.refresh(tenant))

    async def Rollback(self, request: pb.RollbackRequest, context: _Context) -> pb.PublishResponse:
        """Serve an earlier snapshot again."""
        actor = current_call().caller.name
        return await self._swapped(self._publisher.rollback(self._tenant(), request.snapshot_id, actor))

    async def ListSnapshots(self, request: pb.ListSnapshotsRequest, context: _Context) -> pb.ListSnapshotsResponse:
        """List the snapshots of the tenant's store."""
        tenant = self._tenant()
        catalog, listed = self._catalogs.state(tenant), pb.ListSnapshotsResponse()
        for each in await in_background(partial(list_snapshots, self._publisher.store(tenant).path)):
            listed.snapshots.add(
                snapshot_id=each.snapshot_id,
                tool_count=each.tool_count,
                bytes=each.bytes,
                published=each.published,
                served=each.snapshot_id == catalog.snapshot_id,
                current=each.current,
                problem=each.problem or catalog.problems.get(each.snapshot_id, ""),
            )
        return listed

    async def Diff(self, request: pb.DiffRequest, context: _Context) -> pb.DiffResponse:
        """Compare two snapshots of the tenant's store."""
        tenant = self._tenant()
        store = self._publisher.store(tenant)
        old_id = request.old_id or self._catalogs.state(tenant).snapshot_id
        if not old_id:
            raise NotReadyError("no snapshot is served yet", subject="old_id", remedy="Name the old snapshot")

        def differences() -> pb.DiffResponse:
            found = store.diff(old_id, request.new_id)
            tools = found.tools
            return pb.DiffResponse(
                old_id=found.old,
                new_id=found.new,
                added=tools.added[:_MAX_LISTED],
                removed=tools.removed[:_MAX_LISTED],
                changed=[tool.id for tool in tools.changed[:_MAX_LISTED]],
                diff_json=json.dumps(found.to_json(), ensure_ascii=False),
            )

        async with self._comparing:
            return await in_background(differences)

    async def ListCatalogs(self, request: pb.ListCatalogsRequest, context: _Context) -> pb.ListCatalogsResponse:
        """List the catalogues of this server that the caller may see."""
        visible = current_call().caller.tenants
        listed = pb.ListCatalogsResponse()
        for tenant in self._catalogs.tenants:
            if visible is None or tenant in visible:
                catalog = self._catalogs.state(tenant)
                listed.catalogs.add(
                    tenant=tenant,
                    snapshot_id=catalog.snapshot_id,
                    tool_count=catalog.engine.catalog().tool_count if catalog.engine else 0,
                    since=datetime.fromtimestamp(catalog.since, UTC) if catalog.since else None,
                    problem=catalog.problem,
                    draining=catalog.draining,
                )
        return listed

    def _tenant(self) -> str:
        tenant = self._catalogs.resolve(current_call().tenant)
        add_log_fields(tenant=tenant)
        return tenant

    async def _swapped(self, work: Coroutine[Any, Any, Swap]) -> pb.PublishResponse:
        """Await ``work``, which goes on when the call is cancelled."""
        task = asyncio.ensure_future(work)
        self._unfinished.add(task)  # else nothing holds it when the call has gone
        task.add_done_callback(self._unfinished.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # retrieved
        swap = (await asyncio.shield(task))._asdict()
        add_log_fields(**swap)
        return pb.PublishResponse(**swap)
