"""Swapping a snapshot while it is served: no mixed reply, no failed call, a bad one refused, the old one freed."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from egotools import AsyncClient, ClientError, InvalidRequestError, PreconditionError, Query
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from inference.encoder_wrappers import RecentVectors
from services.server.catalogs import CatalogStore, catalog_stores
from services.server.server import SERVICE_NAME, Server
from services.server.settings import CatalogEntry
from tests.harness.editions import QUERY, EditionStore, editions_in, whole_request
from tests.harness.engines import TOOLS, small_engine, small_settings
from tests.harness.servers import loaded
from tests.harness.waiting import LIMIT_S, until
from tests.services.server.test_server import failure

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


@asynccontextmanager
async def running(
    stores: dict[str, Path], *, required: tuple[str, ...] | None = None, **changed: object
) -> AsyncIterator[Server]:
    """A server over stores, by tenant; without a watcher unless ``watch_s`` says otherwise."""
    entries = {tenant: CatalogStore(path=path) for tenant, path in stores.items()}
    settings = small_settings(queue=64, **{"watch_s": 0.0, **changed})
    async with loaded(Server(settings, entries, required=required)) as server:
        yield server


def stub_of(channel: grpc.aio.Channel) -> pb_grpc.ToolRetrievalAsyncStub:
    stub: pb_grpc.ToolRetrievalAsyncStub = pb_grpc.ToolRetrievalStub(channel)
    return stub


def asked(channel: grpc.aio.Channel, tenant: str) -> Any:
    """A request of a tenant."""
    return stub_of(channel).Retrieve(whole_request(), metadata=(("egotools-tenant", tenant),))


async def read(stub: pb_grpc.ToolRetrievalAsyncStub, number: int) -> Any:
    """One call; each number another kind."""
    calls: tuple[Any, ...] = (
        lambda: stub.Retrieve(whole_request()),
        lambda: stub.RetrieveBatch(pb.RetrieveBatchRequest(requests=[whole_request()] * 2)),
        lambda: stub.GetTool(pb.GetToolRequest(id="shop/list_order", schema_format=pb.SCHEMA_FORMAT_MCP)),
        lambda: stub.Neighbors(pb.NeighborsRequest(node="shop/list_order")),
    )
    return await calls[number % len(calls)]()


async def test_no_reply_mixes_two_snapshots(store: EditionStore) -> None:
    """Each reply has text, schema, graph and id of one edition, while publications follow one another."""
    mixed: list[str] = []
    seen: set[str] = set()
    ended = asyncio.Event()
    async with running({"": store.path}) as server, grpc.aio.insecure_channel(server.address) as channel:

        async def reader(first: int) -> None:
            for number in itertools.count(first):
                reply = await read(stub_of(channel), number)
                editions = editions_in(reply, store)
                seen.update(editions)
                if len(editions) != 1:
                    mixed.append(str(reply))
                if ended.is_set():
                    return

        readers = [asyncio.ensure_future(reader(number)) for number in range(4)]
        for number in range(12):
            edition = ("beta", "alpha")[number % 2]
            swap = await server.publisher.publish("", store.ids[edition])
            assert swap.snapshot_id == store.ids[edition] != swap.previous_id
        ended.set()
        await asyncio.gather(*readers)
    assert mixed == []
    assert seen == {"alpha", "beta"}


async def test_a_call_in_flight_keeps_its_snapshot_and_then_frees_it() -> None:
    """The old engine answers the call that began with it, and is gone when that call ends, without a garbage collection."""
    released, entered = threading.Event(), threading.Event()

    def hook(request: Any) -> None:
        if "held" in request.query:
            entered.set()
            assert released.wait(LIMIT_S)

    old, new = small_engine(hook=hook), small_engine(*TOOLS[:2])
    old_id, new_id = old.snapshot_id, new.snapshot_id
    freed = weakref.ref(old)
    server = Server(small_settings())
    engines = [old]
    await server.start()
    try:
        await server.load(engines.pop)
        del old
        async with grpc.aio.insecure_channel(server.address) as channel:
            stub = stub_of(channel)
            call = asyncio.ensure_future(stub.Retrieve(pb.RetrieveRequest(query="held customer"), timeout=LIMIT_S))
            await until(entered.is_set)
            gc.disable()
            await server.load(lambda: new)
            assert server.catalogs.state("").draining == 1
            assert (await stub.Retrieve(pb.RetrieveRequest(query="customer"))).snapshot_id == new_id
            assert freed() is not None
            released.set()
            assert (await call).snapshot_id == old_id
            await until(lambda: freed() is None)
            await until(lambda: server.catalogs.state("").draining == 0)
    finally:
        gc.enable()
        released.set()
        await server.stop(0)


async def test_a_damaged_publication_is_refused_and_the_next_one_served(store: EditionStore) -> None:
    store.damage("beta")
    async with running({"": store.path}, watch_s=0.02) as server, AsyncClient(server.address) as client:
        store.name_current("beta")  # a publication checks it
        await until(lambda: server.catalogs.state("").problem)
        assert (await client.retrieve(QUERY)).snapshot_id == store.ids["alpha"]
        (store.path / "CURRENT").write_text("../../etc", encoding="utf-8")
        await until(lambda: "CURRENT" in server.catalogs.state("").problem)
        store.publish("alpha")
        await until(lambda: not server.catalogs.state("").problem)
        assert (await client.retrieve(QUERY)).snapshot_id == store.ids["alpha"]


def serves(server: Server, tenant: str = "") -> str:
    engine = server.catalogs.state(tenant).engine
    return engine.snapshot_id if engine else ""


async def test_tenants_never_see_one_another(tmp_path: Path, built: EditionStore) -> None:
    stores = {"acme": tmp_path / "a", "umbrella": tmp_path / "b"}
    for tenant, edition in (("acme", "alpha"), ("umbrella", "beta")):
        built.copy(stores[tenant]).__class__(stores[tenant], built.ids).publish(edition)
    async with running(stores) as server, grpc.aio.insecure_channel(server.address) as channel:
        stub = stub_of(channel)
        for number, (tenant, edition) in enumerate((("acme", "alpha"), ("umbrella", "beta")) * 8):
            named: Any = {"metadata": (("egotools-tenant", tenant),)}
            calls = (
                stub.Retrieve(whole_request(), **named),
                stub.GetTool(pb.GetToolRequest(id="shop/list_order"), **named),
                stub.Neighbors(pb.NeighborsRequest(node="shop/list_order"), **named),
                stub.Retrieve(pb.RetrieveRequest(query="alpha beta number", explain=True), **named),
            )
            assert editions_in(await calls[number % 4], built) == {edition}
        refused = {"nobody": grpc.StatusCode.NOT_FOUND, "": grpc.StatusCode.INVALID_ARGUMENT}
        for tenant, code in refused.items():
            assert (await failure(asked(channel, tenant))).code() is code
        await server.publisher.publish("umbrella", built.ids["alpha"])
        assert serves(server, "acme") == built.ids["alpha"] == serves(server, "umbrella")
        models = {id(server.catalogs.state(tenant).engine.encoder) for tenant in stores}  # type: ignore[union-attr]
        assert len(models) == 2, "each CatalogStore of this test has models of its own"


# -- readiness ---------------------------------------------------------------------------------------------------------


async def health_of(channel: grpc.aio.Channel, service: str) -> int:
    stub = health_pb2_grpc.HealthStub(channel)
    return int((await stub.Check(health_pb2.HealthCheckRequest(service=service))).status)


async def test_it_serves_when_every_required_catalogue_is_warm(tmp_path: Path) -> None:
    """Liveness at once; readiness, and the first OK reply, with the last required catalogue. Watch sees it."""
    held = threading.Event()
    server = Server(
        small_settings(),
        {tenant: CatalogStore(path=tmp_path / tenant) for tenant in ("a", "b", "optional")},
        required=("a", "b"),
    )
    address = await server.start()
    try:
        async with grpc.aio.insecure_channel(address) as channel:
            watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=SERVICE_NAME))
            assert (await watch.read()).status == NOT_SERVING
            await server.load(small_engine, "a")
            loading = asyncio.ensure_future(server.load(lambda: small_engine(hook=lambda request: wait_for(held)), "b"))
            assert (await health_of(channel, ""), await health_of(channel, SERVICE_NAME)) == (SERVING, NOT_SERVING)
            for tenant in ("a", "b"):
                assert (await failure(asked(channel, tenant))).code() is grpc.StatusCode.UNAVAILABLE
            held.set()
            await loading
            assert (await asyncio.wait_for(watch.read(), LIMIT_S)).status == SERVING
            assert (await asked(channel, "a")).tools
            assert (await failure(asked(channel, "optional"))).code() is grpc.StatusCode.UNAVAILABLE
    finally:
        held.set()
        await server.stop(0)


def wait_for(event: threading.Event) -> None:
    assert event.wait(LIMIT_S)


async def test_a_required_catalogue_that_is_bad_ends_the_start_and_another_does_not(
    store: EditionStore, tmp_path: Path
) -> None:
    stores = {"good": store.path, "bad": tmp_path / "empty"}
    with pytest.raises(Exception, match="no snapshot is published here"):
        async with running(stores):
            raise AssertionError("it must not serve")
    async with running(stores, required=("good",), watch_s=0.02) as server, AsyncClient(server.address) as client:
        assert "no snapshot is published" in server.catalogs.state("bad").problem
        with pytest.raises(InvalidRequestError):
            await client.retrieve(QUERY)
        store.copy(tmp_path / "later").path.rename(tmp_path / "empty")
        await until(lambda: serves(server, "bad") == store.ids["alpha"])


async def test_a_request_may_ask_for_a_snapshot_that_is_not_older(store: EditionStore) -> None:
    alpha, beta = store.ids["alpha"], store.ids["beta"]
    async with running({"": store.path}) as server, AsyncClient(server.address) as client:

        def calls(wanted: str) -> tuple[Any, ...]:
            return (
                client.retrieve(QUERY, min_snapshot=wanted),
                client.get_tool("shop/list_order", min_snapshot=wanted),
                client.neighbors("shop/list_order", min_snapshot=wanted),
            )

        async def reads(wanted: str) -> list[str]:
            return [(await call).snapshot_id for call in calls(wanted)]

        async def refused(wanted: str) -> None:
            for call in calls(wanted):
                with pytest.raises(PreconditionError) as caught:
                    await call
                assert (caught.value.reason, caught.value.subject) == ("STALE_SNAPSHOT", wanted)

        assert await reads(alpha) == await reads("") == [alpha] * 3
        assert await reads(beta) == [alpha] * 3, "the history says that beta was published before alpha was again"
        await refused("0123456789abcdef")
        store.publish("beta")
        await server.publisher.refresh("")
        assert await reads(beta) == await reads(alpha) == [beta] * 3
        batch = await client.retrieve_batch([Query(QUERY, min_snapshot=each) for each in (alpha, "f" * 16, "")])
        assert [isinstance(each, ClientError) for each in batch] == [False, True, False]
        with pytest.raises(InvalidRequestError):
            await client.retrieve(QUERY, min_snapshot="x" * 10_000)


async def test_a_tenant_keeps_the_vectors_of_its_requests_from_one_snapshot_to_the_next(store: EditionStore) -> None:
    stores = catalog_stores(dict.fromkeys("ab", CatalogEntry(store=store.path)))
    first, following, other = (stores[tenant].open().encoder for tenant in "aab")
    assert isinstance(first, RecentVectors)
    assert (first is following, first is other) == (True, False), "its time would tell what another tenant asked"
