"""The server over real gRPC on loopback: every RPC, every error, health, reflection, load, deadlines."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import pytest

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from retrieval.query.request import Request
from services.server.calls import ERROR_METADATA_KEY, JsonFormatter
from services.server.server import Server
from tests.harness.engines import HeldRequests, HookedEngine, serving, small_engine
from tests.harness.waiting import LIMIT_S, until


@pytest.fixture
def engine() -> HookedEngine:
    return small_engine()


@pytest.fixture
async def server(engine: HookedEngine) -> AsyncIterator[Server]:
    async with serving(engine) as running:
        engine.asked.clear()  # of the warm query
        yield running


@pytest.fixture
async def channel(server: Server) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(server.address) as opened:
        yield opened


@pytest.fixture
def stub(channel: grpc.aio.Channel) -> pb_grpc.ToolRetrievalAsyncStub:
    return pb_grpc.ToolRetrievalStub(channel)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    handler.setLevel(logging.INFO)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield stream
    root.removeHandler(handler)
    root.setLevel(before)


def calls(log: io.StringIO) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    return [line for line in lines if line["message"] == "call"]


async def failure(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


def told(error: grpc.aio.AioRpcError) -> pb.Error:
    for key, value in error.trailing_metadata():
        if key == ERROR_METADATA_KEY:
            assert isinstance(value, bytes)
            return pb.Error.FromString(value)
    raise AssertionError(f"no {ERROR_METADATA_KEY} beside {error.code()}")


async def test_a_batch_answers_in_order_and_one_bad_request_stops_no_other(
    stub: pb_grpc.ToolRetrievalAsyncStub, engine: HookedEngine, log: io.StringIO
) -> None:
    def hook(request: Request) -> None:
        if request.query == "break it":
            raise ZeroDivisionError("break it")

    engine.hook = hook
    requests = [
        pb.RetrieveRequest(query="find customer", k=1),
        pb.RetrieveRequest(query="!?"),
        pb.RetrieveRequest(query="orders", preset="nonsense"),
        pb.RetrieveRequest(query="break it"),
        pb.RetrieveRequest(query="list orders", k=1),
    ]
    results = (await stub.RetrieveBatch(pb.RetrieveBatchRequest(requests=requests))).results
    assert [result.WhichOneof("outcome") for result in results] == ["response", "error", "error", "error", "response"]
    assert [results[0].response.tools[0].id, results[4].response.tools[0].id] == [
        "crm/find_customer",
        "erp/list_orders",
    ]
    assert (results[1].error.code, results[1].error.subject) == (3, "query")
    assert results[2].error.subject == "preset" and results[2].error.remedy.startswith("Known: bm25, default")
    assert results[3].error.code == 13 and results[3].error.incident_id in log.getvalue()
    assert "break it" not in log.getvalue()


# -- bad input ---------------------------------------------------------------------------------------------------------

WRONG: list[tuple[Any, str]] = [
    (pb.RetrieveRequest(query="x", k=0), "k"),
    (pb.RetrieveRequest(query="x", k=-1), "k"),
    (pb.RetrieveRequest(query="x", k=10_000), "k"),
    (pb.RetrieveRequest(), "query"),
    (pb.RetrieveRequest(query="?! -- ... ###"), "query"),
    (pb.RetrieveRequest(query="🚀🔥🙈"), "query"),
    (pb.RetrieveRequest(query="order " * 170_000), "query"),
    (pb.RetrieveRequest(query="x", preset="nope"), "preset"),
    (pb.RetrieveRequest(query="x", schema_format=99), "schema_format"),  # type: ignore[arg-type]
    (pb.RetrieveRequest(query="x", filters={"": pb.StringList(values=["a"])}), "filters"),
    (pb.RetrieveRequest(query="x", filters={"team": pb.StringList()}), "filters.team"),
    (pb.RetrieveRequest(query="x", filters={"team": pb.StringList(values=[""])}), "filters.team"),
    (
        pb.RetrieveRequest(query="x", filters={"team": pb.StringList(values=["v"] * 257)}),
        "filters.team",
    ),
    (
        pb.RetrieveRequest(query="x", filters={f"k{n}": pb.StringList(values=["v"]) for n in range(33)}),
        "filters",
    ),
    (
        pb.RetrieveRequest(
            query="x", filters={f"k{n}": pb.StringList(values=[f"v{v}*" for v in range(n, n + 129)]) for n in (1, 2)}
        ),
        "filters",
    ),
    (
        pb.RetrieveRequest(query="x", filters={"k": pb.StringList(values=[f"{n}{'v' * 900}*" for n in range(19)])}),
        "filters",
    ),
    (pb.GetToolRequest(), "id"),
    (pb.GetToolRequest(id="x" * 5_000), "id"),
    (pb.GetToolRequest(id="x", schema_format=-1), "schema_format"),  # type: ignore[arg-type]
    (pb.NeighborsRequest(node="  "), "node"),
    (pb.NeighborsRequest(node="x", limit=0), "limit"),
    (pb.NeighborsRequest(node="x", limit=1_001), "limit"),
    (pb.NeighborsRequest(node="x", predicates=["p"] * 65), "predicates"),
    (pb.NeighborsRequest(node="x", predicates=["p" * 1_001]), "predicates"),
    (pb.PlanRequest(), "goals"),
    (pb.PlanRequest(goals=[""]), "goals"),
    (pb.PlanRequest(goals=[f"t{n}" for n in range(21)]), "goals"),
    (pb.PlanRequest(query="?!"), "query"),
    (pb.PlanRequest(goals=["x"], done=[""]), "done"),
    (pb.PlanRequest(goals=["x"], have={"a": "v" * 4_001}), "have.a"),
    (pb.GetCatalogRequest(page_size=-1), "page_size"),
    (pb.GetCatalogRequest(page_size=5_001), "page_size"),
    (pb.GetCatalogRequest(page_token="hello there"), "page_token"),
    (pb.GetCatalogRequest(page_token="MTphYmM6eA=="), "page_token"),
]


async def test_bad_input_is_refused_by_the_name_of_its_field(
    stub: pb_grpc.ToolRetrievalAsyncStub, engine: HookedEngine, subtests: pytest.Subtests
) -> None:
    for request_, subject in WRONG:
        with subtests.test(ascii(request_)):
            method = {
                pb.RetrieveRequest: stub.Retrieve,
                pb.GetToolRequest: stub.GetTool,
                pb.NeighborsRequest: stub.Neighbors,
                pb.GetCatalogRequest: stub.GetCatalog,
                pb.PlanRequest: stub.Plan,
            }[type(request_)]
            error = await failure(method(request_))  # type: ignore[operator]
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
            said = told(error)
            assert (said.code, said.reason, said.subject) == (3, "INVALID_ARGUMENT", subject)
            assert said.message.endswith(".")
            assert error.details() and subject in str(error.details())
            assert engine.asked == []


async def test_a_bug_is_internal_with_an_incident_that_the_log_knows(
    stub: pb_grpc.ToolRetrievalAsyncStub, engine: HookedEngine, log: io.StringIO
) -> None:
    def hook(request: Request) -> None:
        try:
            raise KeyError(request.query)
        except KeyError as cause:
            raise RuntimeError(f"cannot do {request.query}") from cause

    engine.hook = hook
    error = await failure(stub.Retrieve(pb.RetrieveRequest(query="planted secret words")))
    said = told(error)
    assert (error.code(), said.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    assert said.incident_id and said.incident_id in str(error.details())
    assert "planted" not in str(error.details())
    incident = next(line for line in map(json.loads, log.getvalue().splitlines()) if line["message"] == "incident")
    assert incident["incident_id"] == said.incident_id
    assert "builtins.RuntimeError" in incident["traceback"] and "builtins.KeyError" in incident["traceback"]
    assert any("engines.py" in line for line in incident["traceback"])
    assert "planted" not in log.getvalue()


# -- load, deadlines, cancellation -------------------------------------------------------------------------------------


async def test_cancelled_calls_free_their_places(
    stub: pb_grpc.ToolRetrievalAsyncStub, server: Server, engine: HookedEngine, log: io.StringIO
) -> None:
    threads, engine.hook = threading.active_count(), (held := HeldRequests())
    engine.answered.clear()  # of the warm query
    for turn in range(1, 11):
        held.hold()
        batch = [stub.Retrieve(pb.RetrieveRequest(query="x"), timeout=LIMIT_S) for _ in range(4)]
        await until(lambda: server.limiter.admitted == 4 and engine.running == 2)
        for call in batch:
            call.cancel()
        await until(lambda turn=turn: len(calls(log)) == 4 * turn)  # type: ignore[misc]
        held.released.set()
        await until(lambda: server.limiter.admitted == 0)
    assert engine.answered == []
    assert server.calls.in_flight == 0
    assert threading.active_count() <= threads + 2  # the two workers
    assert len((await stub.Retrieve(pb.RetrieveRequest(query="customer"))).tools) == 3
    assert {line["code"] for line in calls(log)[:-1]} == {"CANCELLED"}


async def test_each_call_is_one_line_without_words_of_the_request(
    stub: pb_grpc.ToolRetrievalAsyncStub, engine: HookedEngine, log: io.StringIO
) -> None:
    words = "planted secret words"
    planted = pb.RetrieveRequest(query=words, k=2, have={words: words})
    await stub.Retrieve(planted)
    await stub.RetrieveBatch(pb.RetrieveBatchRequest(requests=[planted, pb.RetrieveRequest(query=words, k=0)]))
    await failure(stub.Retrieve(pb.RetrieveRequest(query=words, k=0)))
    await failure(stub.Retrieve(pb.RetrieveRequest(query=words, preset=words)))
    await failure(stub.GetTool(pb.GetToolRequest(id=words)))
    await failure(stub.Neighbors(pb.NeighborsRequest(node=words)))
    assert "planted" not in log.getvalue()
    lines = calls(log)
    assert [line["code"] for line in lines] == ["OK", "OK", "INVALID_ARGUMENT", "INVALID_ARGUMENT", *["NOT_FOUND"] * 2]
    first = lines[0]
    assert (first["method"], first["k"], first["preset"], first["tools"]) == ("Retrieve", 2, "default", 2)
    assert (first["snapshot_id"], first["query_chars"]) == (engine.snapshot_id, len(words))
    assert first["ms"] > 0
    assert (lines[1]["batch"], lines[1]["errors"], lines[1]["unanswerable"], lines[1]["empty"]) == (2, 1, 0, 0)
