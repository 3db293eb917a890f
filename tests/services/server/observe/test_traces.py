"""Traces as a real collector gets them over HTTP, and that one that is down or slow costs a call nothing."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otel")

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from ontology.errors import InvalidArgumentError, MissingExtraError
from services.server.server import Server
from tests.services.server.memory_engine import SNAPSHOT_ID, MemoryEngine, serving, small_settings
from tests.services.server.observe.collector import collecting

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
QUERY = "find the customer Rumpelstiltskin"


@asynccontextmanager
async def traced(endpoint: str) -> AsyncIterator[pb_grpc.ToolRetrievalAsyncStub]:
    async with serving(MemoryEngine(), small_settings(otel_endpoint=endpoint)) as server:
        async with grpc.aio.insecure_channel(server.address) as channel:
            yield pb_grpc.ToolRetrievalStub(channel)


def values(span: Span) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value") or "") for each in span.attributes}


async def test_a_call_is_a_span_with_its_stages_below_the_span_of_the_caller() -> None:
    with collecting() as collector:
        before = time.time_ns()
        async with traced(collector.address) as stub:
            metadata = (("traceparent", f"00-{TRACE}-{PARENT}-01"), ("egotools-tenant", ""))
            await stub.Retrieve(pb.RetrieveRequest(query=QUERY, k=2), metadata=metadata)
    spans = {span.name: span for span in collector.spans}
    call, stage = spans["egotools.v1/Retrieve"], spans["queue"]
    assert (call.trace_id.hex(), call.parent_span_id.hex(), call.kind) == (TRACE, PARENT, Span.SPAN_KIND_SERVER)
    assert (stage.trace_id, stage.parent_span_id) == (call.trace_id, call.span_id)
    assert before <= call.start_time_unix_nano <= stage.start_time_unix_nano
    assert stage.start_time_unix_nano <= stage.end_time_unix_nano <= call.end_time_unix_nano <= time.time_ns()
    said = values(call)
    assert said["rpc.method"] == "Retrieve" and said["rpc.response.status_code"] == "OK"
    assert said["egotools.snapshot_id"] == SNAPSHOT_ID and said["egotools.k"] == 2 and said["egotools.tools"] == 2
    assert said["egotools.query_chars"] == len(QUERY)
    assert call.status.code == Status.STATUS_CODE_UNSET
    (resource,) = {str(each.resource) for request in collector.requests for each in request.resource_spans}
    assert "service.name" in resource and "egotools" in resource


async def test_no_text_of_a_request_and_no_name_that_a_caller_made_up_is_in_a_span() -> None:
    with collecting() as collector:
        async with traced(collector.address) as stub:
            for request in (
                pb.RetrieveRequest(query=QUERY),
                pb.RetrieveRequest(query=QUERY, preset="Rumpelstiltskin"),
                pb.RetrieveRequest(query=QUERY, filters={"namespace": pb.StringList(values=["Rumpelstiltskin"])}),
            ):
                with_tenant = (("egotools-tenant", "Rumpelstiltskin"),)
                for metadata in ((), with_tenant, (("traceparent", "Rumpelstiltskin"),)):
                    await asyncio.gather(stub.Retrieve(request, metadata=metadata), return_exceptions=True)
            await asyncio.gather(stub.GetTool(pb.GetToolRequest(id="Rumpelstiltskin")), return_exceptions=True)
    assert len([span for span in collector.spans if span.parent_span_id == b""]) == 10
    assert "Rumpelstiltskin" not in str(collector.requests)


async def test_a_collector_that_is_down_costs_no_call_and_writes_no_line_for_each(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with caplog.at_level(logging.INFO):
            async with traced(f"http://127.0.0.1:{unused.getsockname()[1]}/v1/traces") as stub:
                for _ in range(50):
                    await stub.Retrieve(pb.RetrieveRequest(query=QUERY), timeout=5)
    assert sum(record.name.startswith(("opentelemetry", "urllib3")) for record in caplog.records) < 5


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(MissingExtraError, match=r"requirements/otel\.txt"):
        Server(small_settings(otel_endpoint="http://127.0.0.1:1/v1/traces"))


def test_an_address_that_is_none_is_named_without_its_password() -> None:
    with pytest.raises(InvalidArgumentError, match="otel_endpoint") as caught:
        Server(small_settings(otel_endpoint="grpc://user:hunter22@collector:4317"))
    assert "hunter22" not in str(caught.value)
