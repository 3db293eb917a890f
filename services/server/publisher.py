"""Publication on a running server: a new snapshot is loaded, checked and tried beside the old one, then swapped in; and the service of administration."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias, TypeVar

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from egotools.v1 import admin_pb2 as pb
from egotools.v1 import admin_pb2_grpc as pb_grpc
from ontology.errors import EgotoolsError, NotReadyError, SnapshotError, UnsupportedError
from retrieval.engine import Engine
from retrieval.query.request import Request
from services.server.caller import add_log_fields, current_call
from services.server.catalogs import Catalogs, CatalogStore, Published, ServedCatalog
from services.server.error_status import reason_of
from services.server.logs import fields

__all__ = ["CatalogAdmin", "Publisher", "in_background", "watch_stores"]

_T = TypeVar("_T")
_NICE = 10


async def in_background(work: Callable[[], _T], *, low_priority: bool = True) -> _T:
    """Run ``work`` on a thread of its own and return its result.

    :param low_priority: whether other threads get the processors first, where the system can do that for one thread.
    """
    lower = _lower_priority if low_priority else None
    pool = ThreadPoolExecutor(1, thread_name_prefix="egotools-background", initializer=lower)
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, work)
    finally:
        pool.shutdown(wait=False)


def _lower_priority() -> None:
    if sys.platform == "linux":  # elsewhere the priority is that of the whole process
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


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


_MOST_WAIT_S = 60.0


async def watch_stores(publisher: Publisher, every_s: float) -> None:
    """Look at every store again and again, until cancelled.

    A look reads ``CURRENT`` and asks for the times of three files. A publication renames folders and files into place, so a
    look never meets a part of one. What was refused is tried again when its files change, and after 1, 2, 4, … 60 s: its
    files may still be on their way, or a model may be down.

    :param every_s: seconds between two looks.
    """
    async with asyncio.TaskGroup() as tasks:
        for tenant in publisher.stores:
            tasks.create_task(_watch(publisher, tenant, every_s))


async def _watch(publisher: Publisher, tenant: str, every_s: float) -> None:
    store, seen, wait_s, again = publisher.stores[tenant], None, 0.0, 0.0
    while True:
        await asyncio.sleep(every_s)
        try:
            mark = await asyncio.to_thread(store.mark)
            if mark == seen and (not wait_s or time.monotonic() < again):
                continue
            wait_s = min(2 * wait_s, _MOST_WAIT_S) if mark == seen else 1.0
            seen, again = mark, time.monotonic() + wait_s
            with suppress(EgotoolsError):  # it is logged, and its reason kept
                await publisher.refresh(tenant)
                wait_s = 0.0
        except Exception:  # of the disk, perhaps: the next look may do
            _LOG.exception("incident")


_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_MAX_LISTED = 10_000


class CatalogAdmin(pb_grpc.CatalogAdminServicer):
    """The service ``egotools.v1.CatalogAdmin``.

    A change that has begun is finished, also when its caller has gone: a server is never between two snapshots.
    """

    def __init__(self, catalogs: Catalogs, publisher: Publisher) -> None:
        self._catalogs = catalogs
        self._publisher = publisher
        self._comparing = asyncio.Semaphore(1)  # it reads whole catalogues
        self._unfinished: set[asyncio.Task[Any]] = set()

    async def Publish(self, request: pb.PublishRequest, context: _Context) -> pb.PublishResponse:
        """Serve another snapshot, and make it the published one."""
        tenant = self._tenant()
        if request.snapshot_id:
            publishing = self._publisher.publish(tenant, request.snapshot_id, current_call().caller.name)
            return _swapped(await self._finished(publishing))
        return _swapped(await self._finished(self._publisher.refresh(tenant)))

    async def Rollback(self, request: pb.RollbackRequest, context: _Context) -> pb.PublishResponse:
        """Serve an earlier snapshot again."""
        tenant = self._tenant()
        publishing = self._publisher.rollback(tenant, request.snapshot_id, current_call().caller.name)
        return _swapped(await self._finished(publishing))

    async def ListSnapshots(self, request: pb.ListSnapshotsRequest, context: _Context) -> pb.ListSnapshotsResponse:
        """List the snapshots of the tenant's store."""
        tenant = self._tenant()
        stored = await in_background(self._publisher.store(tenant).snapshots)
        served_id = self._catalogs.state(tenant).snapshot_id
        return pb.ListSnapshotsResponse(
            snapshots=[
                pb.SnapshotInfo(
                    snapshot_id=each.snapshot_id,
                    tool_count=each.tool_count,
                    bytes=each.bytes,
                    published=_timestamp(each.published),
                    served=each.snapshot_id == served_id,
                    current=each.current,
                    problem=each.problem or self._catalogs.problem_of(tenant, each.snapshot_id),
                )
                for each in stored
            ]
        )

    async def Diff(self, request: pb.DiffRequest, context: _Context) -> pb.DiffResponse:
        """Compare two snapshots of the tenant's store."""
        tenant = self._tenant()
        store = self._publisher.store(tenant)
        old_id = request.old_id or self._catalogs.state(tenant).snapshot_id
        if not old_id:
            raise NotReadyError("no snapshot is served yet", subject="old_id", remedy="Name the old snapshot")
        async with self._comparing:
            return await in_background(lambda: _differences(store, old_id, request.new_id))

    async def UpsertTools(
        self, request_iterator: AsyncIterator[pb.UpsertToolsRequest], context: _Context
    ) -> pb.ChangeToolsResponse:
        """Refuse: a catalogue changes as a whole.

        :raises UnsupportedError: always.
        """
        raise _no_single_tools()

    async def DeleteTools(self, request: pb.DeleteToolsRequest, context: _Context) -> pb.ChangeToolsResponse:
        """Refuse: a catalogue changes as a whole.

        :raises UnsupportedError: always.
        """
        raise _no_single_tools()

    async def ListCatalogs(self, request: pb.ListCatalogsRequest, context: _Context) -> pb.ListCatalogsResponse:
        """List the catalogues of this server that the caller may see."""
        visible = current_call().caller.tenants
        tenants = [tenant for tenant in self._catalogs.tenants if visible is None or tenant in visible]
        return pb.ListCatalogsResponse(catalogs=[_state(self._catalogs.state(tenant)) for tenant in tenants])

    def _tenant(self) -> str:
        tenant = self._catalogs.resolve(current_call().tenant)
        add_log_fields(tenant=tenant)
        return tenant

    async def _finished(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Await ``work``, which goes on when the call is cancelled."""
        task = asyncio.ensure_future(work)
        self._unfinished.add(task)  # else nothing holds it when the call has gone
        task.add_done_callback(self._unfinished.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # retrieved
        return await asyncio.shield(task)


def _no_single_tools() -> UnsupportedError:
    return UnsupportedError(
        "single tools of a catalogue are not changed any more",
        remedy="Change the documents, run `egotools sync` or `egotools build`, then call Publish; a watched store needs no call",
    )


def _swapped(swap: Swap) -> pb.PublishResponse:
    add_log_fields(snapshot_id=swap.snapshot_id, previous_id=swap.previous_id)
    return pb.PublishResponse(snapshot_id=swap.snapshot_id, previous_id=swap.previous_id)


def _differences(store: CatalogStore, old_id: str, new_id: str) -> pb.DiffResponse:
    found = store.diff(old_id, new_id)
    tools = found.tools
    return pb.DiffResponse(
        old_id=found.old,
        new_id=found.new,
        added=tools.added[:_MAX_LISTED],
        removed=tools.removed[:_MAX_LISTED],
        changed=[tool.id for tool in tools.changed[:_MAX_LISTED]],
        diff_json=json.dumps(found.to_json(), ensure_ascii=False),
    )


def _state(catalog: ServedCatalog) -> pb.CatalogState:
    engine = catalog.engine
    return pb.CatalogState(
        tenant=catalog.tenant,
        snapshot_id=engine.snapshot_id if engine else "",
        tool_count=engine.catalog().tool_count if engine else 0,
        since=_timestamp(datetime.fromtimestamp(catalog.since, UTC) if catalog.since else None),
        problem=catalog.problem,
        draining=catalog.draining,
    )


def _timestamp(at: datetime | None) -> Timestamp | None:
    if at is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(at)
    return stamp
