"""The RPCs of the admin service: publish, roll back, list and compare the catalogues of a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from egotools.v1 import admin_pb2 as pb
from egotools.v1 import admin_pb2_grpc as pb_grpc
from ontology.errors import NotReadyError, UnsupportedError
from services.server.background import in_background
from services.server.call_record import add_log_fields, current_call
from services.server.catalog_store import CatalogStore
from services.server.catalogs import Catalogs, ServedCatalog
from services.server.publisher import Publisher, Swap

__all__ = ["CatalogAdmin"]

_T = TypeVar("_T")
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
