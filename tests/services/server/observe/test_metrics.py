"""The metrics that a real scrape of a real server has, and that they are what its callers saw."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from services.server.calls import TENANT_METADATA_KEY, CallRecord
from services.server.observe.metrics import Metrics
from services.server.server import Server
from tests.harness.engines import serving, small_engine, small_settings
from tests.services.server.observe.scraping import code_of, fetch, samples, scrape

REQUESTS = "egotools_requests_total"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving(small_engine(), small_settings(metrics_port=0, queue=64)) as running:
        yield running


@pytest.fixture
async def stub(server: Server) -> AsyncIterator[pb_grpc.ToolRetrievalAsyncStub]:
    async with grpc.aio.insecure_channel(server.address) as opened:
        yield pb_grpc.ToolRetrievalStub(opened)


def port_of(server: Server) -> int:
    assert server.metrics_port
    return server.metrics_port


async def test_the_counts_are_those_of_the_caller(server: Server, stub: pb_grpc.ToolRetrievalAsyncStub) -> None:
    calls: dict[str, Any] = {
        "Retrieve": lambda: stub.Retrieve(pb.RetrieveRequest(query="find a customer")),
        "Retrieve invalid": lambda: stub.Retrieve(pb.RetrieveRequest(query="")),
        "GetTool": lambda: stub.GetTool(pb.GetToolRequest(id="crm/get_customer")),
        "GetTool unknown": lambda: stub.GetTool(pb.GetToolRequest(id="crm/no_such_tool")),
        "RetrieveBatch": lambda: stub.RetrieveBatch(
            pb.RetrieveBatchRequest(requests=[pb.RetrieveRequest(query=query) for query in ("customer", "", "order")])
        ),
        "Neighbors": lambda: stub.Neighbors(pb.NeighborsRequest(node="crm/get_customer")),
    }
    seen: Counter[tuple[str, str]] = Counter()

    async def caller(name: str) -> None:
        for _ in range(10):
            seen[name.partition(" ")[0], await code_of(calls[name]())] += 1

    await asyncio.gather(*(caller(name) for name in calls for _ in range(2)))
    found = await scrape(port_of(server))
    counted = {(key[2], key[1]): value for key, value in found.items() if key[0] == REQUESTS}
    assert counted == seen and seen.total() == 120
    assert found["egotools_answers_total", ""] == 20 + 2 * 20
    assert found["egotools_stage_seconds_count", "total"] == found["egotools_stage_seconds_count", "queue"] == 60
    assert found["egotools_request_seconds_count", "Retrieve"] == 40
    assert found["egotools_in_flight",] == 0


async def test_what_a_caller_makes_up_is_other(server: Server, stub: pb_grpc.ToolRetrievalAsyncStub) -> None:
    for number in range(20):
        metadata = ((TENANT_METADATA_KEY, f"made-up-{number}"),)
        assert await code_of(stub.GetTool(pb.GetToolRequest(id="x"), metadata=metadata)) == "NOT_FOUND"
    async with grpc.aio.insecure_channel(server.address) as channel:
        for number in range(20):
            call: Any = channel.unary_unary(f"/egotools.v1.ToolRetrieval/MadeUp{number}")
            assert await code_of(call(b"")) == "UNIMPLEMENTED"
    found = await scrape(port_of(server))
    assert {key[1:]: value for key, value in found.items() if key[0] == REQUESTS} == {
        ("NOT_FOUND", "GetTool", "other"): 20,
        ("UNIMPLEMENTED", "other", ""): 20,
    }


async def test_the_port_answers_scrapes_and_probes(server: Server) -> None:
    port = port_of(server)
    status, head, body = await fetch(port, "/metrics?x=1")
    assert status == 200 and REQUESTS in body and "content-type: text/plain; version=0.0.4" in head
    status, head, body = await fetch(port, "/metrics", method="HEAD")
    assert (status, body) == (200, "") and "content-length: 0" not in head
    probes = {path: (await fetch(port, path))[::2] for path in ("/livez", "/readyz", "/../../etc/passwd")}
    assert probes == {
        "/livez": (200, "alive\n"),
        "/readyz": (200, "ready\n"),
        "/../../etc/passwd": (404, "There are /metrics, /livez and /readyz.\n"),
    }
    assert (await fetch(port, "/metrics", method="POST"))[0] == 405
    loading = Server(small_settings(metrics_port=0))
    await loading.start()
    assert (await fetch(port_of(loading), "/readyz"))[::2] == (503, "not ready\n")
    assert (await fetch(port_of(loading), "/livez"))[0] == 200
    await loading.stop(0)


def test_the_labels_of_tenants_are_bounded() -> None:
    tenants = [f"t{number:03}" for number in range(500)]
    metrics = Metrics(lambda: tenants)
    for tenant in reversed(tenants):
        metrics.finished(CallRecord(method="Retrieve", tenant=tenant), "OK", "", 0.01)
        metrics.swapped(tenant, f"snapshot-{tenant}")
    found = dict(samples(metrics.scrape().decode()))
    assert len([key for key in found if key[0] == REQUESTS]) == 101
    assert found[REQUESTS, "OK", "Retrieve", "other"] == 400
    assert len([key for key in found if key[0] == "egotools_snapshot_info"]) == 101
