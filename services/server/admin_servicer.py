"""The RPCs of the admin service: publish, roll back, list, compare and change the catalogues of a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from egotools.v1 import admin_pb2 as pb
from egotools.v1 import admin_pb2_grpc as pb_grpc
from ontology.errors import InvalidArgumentError, NotReadyError
from services.audited import named_tools
from services.server.admission.byte_budget import HeldBytes
from services.server.background import in_background
from services.server.call_record import add_log_fields, current_call
from services.server.catalog_store import CatalogStore
from services.server.catalogs import Catalogs, ServedCatalog
from services.server.changing_tools import ChangeCounts, ToolChanges
from services.server.publisher import Publisher, Swap
from services.server.receiving_tools import MAX_TOOLS, ReceivingTools
from services.server.settings import ServerSettings

__all__ = ["CatalogAdmin"]

_T = TypeVar("_T")
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_MAX_LISTED = 10_000


class CatalogAdmin(pb_grpc.CatalogAdminServicer):
    """The service ``egotools.v1.CatalogAdmin``.

    A change that has begun is finished, also when its caller has gone: a server is never between two snapshots.
    """

    def __init__(self, catalogs: Catalogs, publisher: Publisher, settings: ServerSettings) -> None:
        self._catalogs = catalogs
        self._publisher = publisher
        self._comparing = asyncio.Semaphore(1)  # it reads whole catalogues
        self._receiving = ReceivingTools(settings)
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
        served_id = self._catalogs.state(tenant).base_id
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
        old_id = request.old_id or self._catalogs.state(tenant).base_id
        if not old_id:
            raise NotReadyError("no snapshot is served yet", subject="old_id", remedy="Name the old snapshot")
        async with self._comparing:
            return await in_background(lambda: _differences(store, old_id, request.new_id))

    async def UpsertTools(
        self, request_iterator: AsyncIterator[pb.UpsertToolsRequest], context: _Context
    ) -> pb.ChangeToolsResponse:
        """Add tools, or replace those with the same ids."""
        tenant = self._tenant()
        call = current_call()
        tools, held = await self._receiving.receive(tenant, call.caller.name or call.peer, request_iterator)
        try:
            _require("tools_json", tools)
        except InvalidArgumentError:
            held.release()
            raise
        add_log_fields(tools=len(tools))
        try:
            found = _objects(tools)
        except InvalidArgumentError:
            held.release()
            raise
        call.subject = named_tools(map(_id_of, found))
        return await self._changed(tenant, lambda changes: changes.upsert(tenant, found), held)

    async def DeleteTools(self, request: pb.DeleteToolsRequest, context: _Context) -> pb.ChangeToolsResponse:
        """Remove tools."""
        tenant, ids = self._tenant(), tuple(request.ids)
        _require("ids", ids)
        add_log_fields(tools=len(ids))
        return await self._changed(tenant, lambda changes: changes.delete(tenant, ids))

    async def ListCatalogs(self, request: pb.ListCatalogsRequest, context: _Context) -> pb.ListCatalogsResponse:
        """List the catalogues of this server that the caller may see."""
        visible = current_call().caller.tenants
        tenants = [tenant for tenant in self._catalogs.tenants if visible is None or tenant in visible]
        return pb.ListCatalogsResponse(catalogs=[_state(self._catalogs.state(tenant)) for tenant in tenants])

    def _tenant(self) -> str:
        tenant = self._catalogs.resolve(current_call().tenant)
        add_log_fields(tenant=tenant)
        return tenant

    async def _changed(
        self, tenant: str, change: Callable[[ToolChanges], ChangeCounts], held: HeldBytes | None = None
    ) -> pb.ChangeToolsResponse:
        found = await self._finished(self._publisher.change(tenant, change), held)
        add_log_fields(snapshot_id=found.snapshot_id)
        counts = f"{found.added} added, {found.replaced} replaced, {found.removed} removed, {found.unknown} unknown"
        current_call().subject = f"{found.snapshot_id}: {counts}; {current_call().subject}"
        return pb.ChangeToolsResponse(
            added=found.added,
            replaced=found.replaced,
            removed=found.removed,
            unchanged=found.unchanged,
            unknown=found.unknown,
            snapshot_id=found.snapshot_id,
        )

    async def _finished(self, work: Coroutine[Any, Any, _T], held: HeldBytes | None = None) -> _T:
        """Await ``work``, which goes on when the call is cancelled, and then releases what is held for it."""
        task = asyncio.ensure_future(work)
        if held is not None:
            task.add_done_callback(lambda _: held.release())
        self._unfinished.add(task)  # else nothing holds it when the call has gone
        task.add_done_callback(self._unfinished.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # retrieved
        return await asyncio.shield(task)


def _require(field: str, values: Sequence[str]) -> None:
    if not 1 <= len(values) <= MAX_TOOLS:
        raise InvalidArgumentError(f"give 1 to {MAX_TOOLS:,}, not {len(values):,}", subject=field)


def _objects(tools: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for number, text in enumerate(tools):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise InvalidArgumentError(
                "this is no JSON object", subject=f"tools_json[{number}]", remedy="Send each tool as one JSON object"
            )
        found.append(value)
    return found


def _id_of(tool: Mapping[str, Any]) -> str:
    """The id of a tool as it was sent; of a function definition its name."""
    function = tool.get("function")
    found = tool.get("id") or tool.get("name") or (function.get("name") if isinstance(function, dict) else "")
    return str(found or "?")


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
        waiting_changes=store.waiting(found.old, found.new),
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
