"""What a server takes from its callers, over real gRPC on loopback: cost, turns, bytes, streams, deadlines, retry hints."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from ontology.tool import Tool
from retrieval.query.request import Request
from services.server.server import SERVICE_NAME, Server
from tests.harness.engines import HookedEngine, serving, small_engine, small_settings
from tests.harness.other_peer import other_peer
from tests.harness.raw_http2 import call_frames, connection
from tests.harness.waiting import LIMIT_S, bounded_work, until
from tests.services.server.test_server import failure, told

EXHAUSTED, INVALID = grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INVALID_ARGUMENT
LONG = pb.RetrieveRequest(query="order " * 3_333, k=1_000, explain=True)  # as dear as one request can be


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[pb_grpc.ToolRetrievalAsyncStub]:
    async with grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        yield pb_grpc.ToolRetrievalStub(channel)


@asynccontextmanager
async def two_peers(
    engine: HookedEngine | None = None, **settings: Any
) -> AsyncIterator[tuple[Server, pb_grpc.ToolRetrievalAsyncStub, pb_grpc.ToolRetrievalAsyncStub]]:
    """A server, and a client of it at each of two addresses."""
    async with (
        serving(engine, small_settings(**settings)) as server,
        other_peer(server.address) as elsewhere,
        connected(server.address) as noisy,
        connected(elsewhere) as quiet,
    ):
        yield server, noisy, quiet


def pushback(error: grpc.aio.AioRpcError) -> int | None:
    return next((int(str(value)) for key, value in error.trailing_metadata() if key == "grpc-retry-pushback-ms"), None)


def holding(engine: HookedEngine, first: str = "") -> tuple[threading.Event, list[str]]:
    """Requests wait in the engine until the event is set; the list has them in the order in which they came."""
    held = threading.Event()
    asked: list[str] = []

    def hook(request: Request) -> None:
        asked.append(request.query)
        assert held.wait(LIMIT_S)

    engine.hook = hook
    return held, asked


# -- cost --------------------------------------------------------------------------------------------------------------


async def test_a_batch_that_costs_too_much_is_refused_before_any_work() -> None:
    engine = small_engine()
    async with serving(engine) as server, connected(server.address) as stub:
        engine.asked.clear()
        error = await failure(stub.RetrieveBatch(pb.RetrieveBatchRequest(requests=[LONG] * 64)))
        assert (error.code(), told(error).subject) == (INVALID, "requests")
        assert "Split it into" in told(error).remedy
        assert engine.asked == []
        answer = await stub.RetrieveBatch(pb.RetrieveBatchRequest(requests=[pb.RetrieveRequest(query="order")] * 64))
        assert len(answer.results) == 64


async def test_a_batch_stops_when_its_answer_is_too_large() -> None:
    long = Tool(id="long", name="long", description="word " * 1_600)
    engine = small_engine(long)
    async with serving(engine, small_settings(max_message_bytes=40_000)) as server, connected(server.address) as stub:
        engine.asked.clear()
        batch = pb.RetrieveBatchRequest(requests=[pb.RetrieveRequest(query="word")] * 20)
        error = await failure(stub.RetrieveBatch(batch))
        assert (error.code(), told(error).subject) == (INVALID, "max_message_bytes")
        assert "split a batch" in told(error).remedy
        assert len(engine.asked) == 5, "the fifth result is one too many; no later request ran"


# -- turns -------------------------------------------------------------------------------------------------------------


async def test_a_peer_that_fills_the_queue_refuses_no_other_and_goes_not_first() -> None:
    engine = small_engine()
    async with two_peers(engine, workers=1, queue=8) as (server, noisy, quiet):
        held, asked = holding(engine)
        many = [asyncio.ensure_future(noisy.Retrieve(pb.RetrieveRequest(query="noisy"))) for _ in range(9)]
        await until(lambda: server.limiter.admitted == 9)
        assert (await failure(noisy.Retrieve(pb.RetrieveRequest(query="noisy")))).code() is EXHAUSTED
        one = asyncio.ensure_future(quiet.Retrieve(pb.RetrieveRequest(query="quiet")))
        done, _ = await asyncio.wait(many, return_when=asyncio.FIRST_COMPLETED)
        assert await code_of(done.pop()) is EXHAUSTED, "the newest of the flow with most gives way"
        held.set()
        await one
        await asyncio.gather(*many, return_exceptions=True)
    assert asked.index("quiet") <= 2
    assert asked.count("noisy") == 8


async def test_a_batch_holds_a_worker_for_one_request_only() -> None:
    engine = small_engine()
    async with two_peers(engine, workers=1) as (server, noisy, quiet):
        held, asked = holding(engine)
        batch = [pb.RetrieveRequest(query="noisy")] * 20
        whole = asyncio.ensure_future(noisy.RetrieveBatch(pb.RetrieveBatchRequest(requests=batch)))
        await until(lambda: asked == ["noisy"])
        one = asyncio.ensure_future(quiet.Retrieve(pb.RetrieveRequest(query="quiet")))
        await until(lambda: server.limiter.admitted == 2)
        held.set()
        await one
        assert len((await whole).results) == 20
    assert asked.index("quiet") <= 2


class NoOrder:
    """A reranker that costs nothing; each request is charged for it."""

    name = "none"

    def score(self, query: str, documents: Sequence[str]) -> Any:
        return np.zeros(len(documents), dtype=np.float32)


async def test_needs_that_a_reranker_reads_leave_a_worker_free() -> None:
    engine = small_engine(reranker=NoOrder())
    dear = pb.RetrieveRequest(needs=["noisy " * 80, "noisy needs " * 40], k=5)
    async with two_peers(engine, workers=2, queue=64) as (server, noisy, quiet):
        held = threading.Event()

        def hook(request: Request) -> None:
            assert not request.needs or held.wait(LIMIT_S)

        engine.hook = hook
        many = [asyncio.ensure_future(noisy.Retrieve(dear)) for _ in range(4)]
        await until(lambda: server.limiter.admitted == 4)
        await quiet.Retrieve(pb.RetrieveRequest(query="quiet"))
        held.set()
        await asyncio.gather(*many)


async def test_an_overloaded_server_says_when_to_try_again_and_never_for_what_is_too_large() -> None:
    engine = small_engine()
    async with serving(engine, small_settings(workers=1, queue=1)) as server, connected(server.address) as stub:
        held, _ = holding(engine)
        running = [asyncio.ensure_future(stub.Retrieve(pb.RetrieveRequest(query="x"))) for _ in range(2)]
        await until(lambda: server.limiter.admitted == 2)
        refused = await failure(stub.Retrieve(pb.RetrieveRequest(query="x")))
        held.set()
        await asyncio.gather(*running)
        large = await failure(stub.GetTool(pb.GetToolRequest(id="x" * 1_100_000)))
        larger = await failure(
            stub.RetrieveBatch(pb.RetrieveBatchRequest(requests=[pb.RetrieveRequest(query="x" * 4_500_000)]))
        )
    assert told(refused).reason == "OVERLOADED"
    assert 0 < (pushback(refused) or 0) < 100, "soon: at another replica first"
    for error in (large, larger):
        assert (error.code(), told(error).reason, pushback(error)) == (EXHAUSTED, "TOO_LARGE", -1)


# -- bytes and calls ---------------------------------------------------------------------------------------------------


async def test_millions_of_empty_requests_are_never_decoded() -> None:
    async with serving() as server, grpc.aio.insecure_channel(server.address) as channel:
        raw: Any = channel.unary_unary(f"/{SERVICE_NAME}/RetrieveBatch")
        with bounded_work(2.0):  # decoded, each call takes 75 MB and a second
            errors = [await failure(raw(b"\x0a\x00" * 2_000_000)) for _ in range(8)]
        assert {(error.code(), told(error).subject) for error in errors} == {(INVALID, "requests")}
        await until(lambda: server.admission.bytes.held == 0)


async def test_calls_without_a_message_hold_the_bytes_of_their_peer_only() -> None:
    most: dict[str, Any] = {"max_message_bytes": 1024 * 1024, "max_inflight_bytes": 8 * 1024 * 1024}
    async with (
        two_peers(default_deadline_s=4.0, **most) as (server, same, other),
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        method: Any = channel.stream_unary(f"/{SERVICE_NAME}/Retrieve")
        ended = asyncio.Event()
        calls = [method(nothing_until(ended)) for _ in range(12)]
        await until(lambda: server.admission.calls.held == 12)
        assert server.admission.bytes.held <= 2 * 1024 * 1024
        error = await failure(same.Retrieve(pb.RetrieveRequest(query="x")))
        assert (error.code(), told(error).subject) == (EXHAUSTED, "max_inflight_bytes")
        assert (await other.Retrieve(pb.RetrieveRequest(query="customer"))).tools
        await until(lambda: server.admission.calls.held == 0)  # they end by the server's own deadline
        assert server.admission.bytes.held == 0
        assert (await same.Retrieve(pb.RetrieveRequest(query="customer"))).tools
        ended.set()
        for call in calls:
            call.cancel()


async def nothing_until(ended: asyncio.Event) -> AsyncIterator[bytes]:
    """A message that does not come."""
    await ended.wait()
    yield b""


@asynccontextmanager
async def never_reading(address: str, calls: int, path: str, message: bytes) -> AsyncIterator[None]:
    """A connection that asks, and lets the server send no byte of an answer: its window is 0."""
    async with connection(address, window=0) as (_, writer):
        for number in range(calls):
            writer.write(call_frames(number, path, message))
        await writer.drain()
        yield


async def test_answers_that_are_never_read_are_bounded_and_hold_up_no_other() -> None:
    long = Tool(id="long", name="long", description="word " * 50_000)  # 250 kB
    settings = small_settings(max_message_bytes=1024 * 1024, max_inflight_bytes=8 * 1024 * 1024)
    async with (
        serving(small_engine(long), settings) as server,
        other_peer(server.address) as elsewhere,
        connected(elsewhere) as other,
    ):
        message = pb.GetToolRequest(id="long").SerializeToString()
        async with never_reading(server.address, 100, f"/{SERVICE_NAME}/GetTool", message):
            await until(lambda: server.admission.calls.held >= 4 and server.limiter.admitted == 0)
            for _ in range(50):
                assert server.admission.bytes.held <= 4 * 1024 * 1024
                await asyncio.sleep(0.01)
            assert (await other.GetTool(pb.GetToolRequest(id="long"))).tool.id == "long"
        await until(lambda: server.admission.calls.held == 0)
        assert server.admission.bytes.held == 0


async def test_open_calls_are_bounded_for_each_peer() -> None:
    engine = small_engine()
    async with two_peers(engine, workers=1, queue=100, max_peer_calls=8) as (server, noisy, quiet):
        held, _ = holding(engine)
        many = [asyncio.ensure_future(noisy.Retrieve(pb.RetrieveRequest(query="x"))) for _ in range(8)]
        await until(lambda: server.admission.calls.held == 8)
        error = await failure(noisy.Retrieve(pb.RetrieveRequest(query="x")))
        assert (error.code(), told(error).reason) == (EXHAUSTED, "OVERLOADED")
        one = asyncio.ensure_future(quiet.Retrieve(pb.RetrieveRequest(query="x")))
        await until(lambda: server.admission.calls.held == 9)
        held.set()
        await asyncio.gather(one, *many)
        await until(lambda: server.admission.calls.held == 0)


# -- health and reflection ---------------------------------------------------------------------------------------------


async def test_health_streams_beyond_the_limit_are_refused_and_checks_are_answered() -> None:
    async with (
        serving(None, small_settings(max_peer_calls=8, max_calls=16, max_streams=50)) as server,
        other_peer(server.address) as elsewhere,
        grpc.aio.insecure_channel(server.address) as channel,
        connected(server.address) as stub,
        grpc.aio.insecure_channel(elsewhere) as other,
    ):
        health = health_pb2_grpc.HealthStub(channel)
        asked = health_pb2.HealthCheckRequest(service=SERVICE_NAME)
        watching = [health.Watch(asked) for _ in range(40)]
        codes = await asyncio.gather(*(first_of(watch) for watch in watching))
        assert codes.count(None) == 9, "the first of a connection, and eight more of its peer"
        assert set(codes) == {None, EXHAUSTED}
        assert (await health.Check(asked)).status == health_pb2.HealthCheckResponse.SERVING
        assert (await stub.Retrieve(pb.RetrieveRequest(query="customer"))).tools
        theirs = health_pb2_grpc.HealthStub(other).Watch(asked)
        assert await first_of(theirs) is None
        async with AsyncExitStack() as stack:  # behind the same address, when its share is taken
            for _ in range(10):
                own = ("grpc.use_local_subchannel_pool", 1)
                further = await stack.enter_async_context(grpc.aio.insecure_channel(server.address, options=[own]))
                assert await first_of(health_pb2_grpc.HealthStub(further).Watch(asked)) is None
        for watch in [*watching, theirs]:
            watch.cancel()
        await until(lambda: server.streams.held == 0)


async def test_half_sent_health_checks_take_no_room_from_their_address() -> None:
    async with (
        serving(None, small_settings(max_streams=128)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        ended = asyncio.Event()
        half: Any = channel.stream_unary("/grpc.health.v1.Health/Check")
        checks = [half(nothing_until(ended)) for _ in range(100)]
        async with connected(server.address) as stub:
            assert (await stub.Retrieve(pb.RetrieveRequest(query="customer"))).tools
        codes = {await code_of(check) for check in checks}  # by the server's own bound: nobody ended them
        assert codes <= {EXHAUSTED, grpc.StatusCode.DEADLINE_EXCEEDED}
        health = health_pb2_grpc.HealthStub(channel)
        assert (await health.Check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING
        ended.set()


async def first_of(stream: Any) -> grpc.StatusCode | None:
    """The code with which a stream ends at once; None when it has a first message."""
    try:
        await stream.read()
    except grpc.aio.AioRpcError as error:
        return error.code()
    return None


@pytest.mark.parametrize(
    ("host", "reflection", "served"),
    [
        ("127.0.0.1", "loopback", True),
        ("0.0.0.0", "loopback", False),
        ("0.0.0.0", "on", True),
        ("127.0.0.1", "off", False),
    ],
)
async def test_reflection_is_for_loopback_unless_said_otherwise(host: str, reflection: str, served: bool) -> None:
    async with serving(None, small_settings(host=host, reflection=reflection, insecure=True)) as server:
        port = server.address.rpartition(":")[2]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = reflection_pb2_grpc.ServerReflectionStub(channel)
            call = stub.ServerReflectionInfo()
            if served:  # a write that meets the refusal of the stream would end in INTERNAL
                await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
            code = await first_of(call)
    assert code is (None if served else grpc.StatusCode.UNIMPLEMENTED)


async def test_a_burst_ends_with_answers_and_refusals_only() -> None:
    async with serving(None, small_settings(workers=2, queue=8)) as server:
        channels = [
            grpc.aio.insecure_channel(
                server.address, options=[("grpc.use_local_subchannel_pool", 1), ("grpc.service_config", "{}")]
            )
            for _ in range(4)
        ]
        stubs = [pb_grpc.ToolRetrievalStub(channel) for channel in channels]
        for stub in stubs:
            await stub.Retrieve(pb.RetrieveRequest(query="customer"))
        calls = [stubs[n % 4].Retrieve(pb.RetrieveRequest(query="x"), timeout=LIMIT_S) for n in range(1_500)]
        codes = [await code_of(call) for call in calls]
        for channel in channels:
            await channel.close()
    assert set(codes) <= {grpc.StatusCode.OK, EXHAUSTED, grpc.StatusCode.UNAVAILABLE}, "and none CANCELLED"
    assert codes.count(grpc.StatusCode.OK) > 0


async def code_of(call: Any) -> grpc.StatusCode:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def test_mutated_messages_get_a_typed_refusal_or_an_answer() -> None:
    chance, codes = random.Random(11), set()
    whole = pb.RetrieveRequest(
        query="customer", k=2, filters={"department": pb.StringList(values=["sales"])}, done=["a"], have={"b": "c"}
    )
    seeds = {
        "Retrieve": whole,
        "RetrieveBatch": pb.RetrieveBatchRequest(requests=[whole] * 2),
        "GetTool": pb.GetToolRequest(id="crm/get_customer", schema_format=pb.SCHEMA_FORMAT_MCP),
        "Neighbors": pb.NeighborsRequest(node="crm/get_customer", predicates=["returns"], limit=3),
        "Plan": pb.PlanRequest(goals=["crm/get_customer"], query="customer", done=["a"], have={"b": "c"}),
        "GetCatalog": pb.GetCatalogRequest(page_size=2, page_token="MTow"),
    }
    async with serving() as server, grpc.aio.insecure_channel(server.address) as channel:
        for name, message in seeds.items():
            method: Any = channel.unary_unary(f"/{SERVICE_NAME}/{name}")
            for _ in range(150):
                data = bytearray(message.SerializeToString())
                for _ in range(chance.randint(1, 4)):
                    at = chance.randrange(len(data) + 1)
                    data[at : at + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 4))
                codes.add(await code_of(method(bytes(data))))
        await until(lambda: server.admission.bytes.held == 0)
    assert codes <= {grpc.StatusCode.OK, INVALID, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION}
