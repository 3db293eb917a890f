"""The admin service over real gRPC: publish, roll back, list, compare; its client and its commands."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from egotools import AsyncClient, SnapshotLostError
from egotools.v1 import admin_pb2 as pb
from egotools.v1 import admin_pb2_grpc as pb_grpc
from retrieval.snapshot.history import history
from services.server.catalogs import CatalogStore
from services.server.server import SERVICE_NAME, Server
from tests.harness.editions import QUERY, EditionStore
from tests.harness.engines import small_settings
from tests.harness.servers import admin_call
from tests.harness.waiting import LIMIT_S, until
from tests.services.server.test_server import failure


@pytest.fixture
async def server(store: EditionStore) -> AsyncIterator[Server]:
    made = Server(small_settings(admin_port=0, watch_s=0.0, queue=64), {"": CatalogStore(path=store.path)})
    await made.start()
    await made.load_stores()
    yield made
    await made.stop(0)


def swapped(snapshot_id: str, previous_id: str) -> pb.PublishResponse:
    return pb.PublishResponse(snapshot_id=snapshot_id, previous_id=previous_id)


async def test_publish_rollback_and_the_lists(server: Server, store: EditionStore) -> None:
    alpha, beta = store.ids["alpha"], store.ids["beta"]
    assert await admin_call(server, "Publish") == swapped(alpha, alpha)
    assert await admin_call(server, "Publish", snapshot_id=beta) == swapped(beta, alpha)
    async with AsyncClient(server.address) as client:
        assert (await client.retrieve(QUERY)).snapshot_id == beta
    listed = (await admin_call(server, "ListSnapshots")).snapshots
    assert [(each.snapshot_id, each.served, each.current, each.tool_count, each.problem) for each in listed] == [
        (beta, True, True, 8, ""),
        (alpha, False, False, 8, ""),
    ]
    assert all(each.bytes > 10_000 and each.HasField("published") for each in listed)
    assert await admin_call(server, "Rollback") == swapped(alpha, beta)
    assert await admin_call(server, "Rollback", snapshot_id=beta) == swapped(beta, alpha)
    (catalog,) = (await admin_call(server, "ListCatalogs")).catalogs
    assert (catalog.tenant, catalog.snapshot_id, catalog.tool_count, catalog.problem) == ("", beta, 8, "")
    assert catalog.HasField("since") and catalog.draining == 0
    assert [entry.action for entry in history(store.path)][-3:] == ["publish", "rollback", "rollback"]


async def test_a_bad_snapshot_is_refused_with_its_file_and_the_reason_is_kept(
    server: Server, store: EditionStore
) -> None:
    file = store.damage("beta")
    with pytest.raises(SnapshotLostError, match=file.name):
        await admin_call(server, "Publish", snapshot_id=store.ids["beta"])
    (catalog,) = (await admin_call(server, "ListCatalogs")).catalogs
    assert catalog.snapshot_id == store.ids["alpha"] and file.name in catalog.problem
    listed = {each.snapshot_id: each for each in (await admin_call(server, "ListSnapshots")).snapshots}
    assert file.name in listed[store.ids["beta"]].problem and not listed[store.ids["alpha"]].problem
    with pytest.raises(SnapshotLostError):
        await admin_call(server, "Rollback", snapshot_id=store.ids["beta"])
    assert history(store.path)[-1].snapshot_id == store.ids["alpha"]


async def test_single_tools_are_not_changed_and_the_answer_names_what_took_its_place(server: Server) -> None:
    async with grpc.aio.insecure_channel(server.admin_address) as channel:
        for name in ("UpsertTools", "DeleteTools"):
            call: Any = channel.unary_unary(f"/egotools.v1.CatalogAdmin/{name}")
            error = await failure(call(b""))
            assert error.code() is grpc.StatusCode.UNIMPLEMENTED
            assert re.search("egotools sync.*Publish", error.details() or "")


async def test_a_publication_goes_on_when_its_caller_has_gone(store: EditionStore) -> None:
    held, entered = threading.Event(), threading.Event()

    class Held(CatalogStore):
        def open(self, snapshot_id: str = "") -> Any:
            if snapshot_id == store.ids["beta"]:
                entered.set()
                assert held.wait(LIMIT_S)
            return super().open(snapshot_id)

    server = Server(small_settings(admin_port=0, watch_s=0.0), {"": Held(path=store.path)})
    await server.start()
    try:
        await server.load_stores()
        async with grpc.aio.insecure_channel(server.admin_address) as channel:
            stub: pb_grpc.CatalogAdminAsyncStub = pb_grpc.CatalogAdminStub(channel)
            call = asyncio.ensure_future(stub.Publish(pb.PublishRequest(snapshot_id=store.ids["beta"])))
            await until(entered.is_set)
            call.cancel()
            held.set()
            await until(lambda: server.catalogs.state("").engine.snapshot_id == store.ids["beta"])  # type: ignore[union-attr]
        assert history(store.path)[-1].snapshot_id == store.ids["beta"]
    finally:
        held.set()
        await server.stop(0)


async def test_health_is_on_the_admin_port_and_the_admin_service_only_there(server: Server) -> None:
    async with (
        grpc.aio.insecure_channel(server.admin_address) as admin,
        grpc.aio.insecure_channel(server.address) as public,
    ):
        check = health_pb2_grpc.HealthStub(admin).Check(health_pb2.HealthCheckRequest(service=SERVICE_NAME))
        assert (await check).status == health_pb2.HealthCheckResponse.SERVING
        stub: pb_grpc.CatalogAdminAsyncStub = pb_grpc.CatalogAdminStub(public)
        assert (await failure(stub.ListCatalogs(pb.ListCatalogsRequest()))).code() is grpc.StatusCode.UNIMPLEMENTED
