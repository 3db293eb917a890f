"""The texts of requests are in the log only where that was asked for, as a sample, and without known secrets."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from services.server.logs import JsonFormatter
from tests.services.server.memory_engine import serving, small_settings

QUERY = "find the customer Rumpelstiltskin with token=abc123def456 and sk-plantedKEY0123456789"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    root, before = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield stream
    root.removeHandler(handler)
    root.setLevel(before)


def queries(log: io.StringIO) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    return [line for line in lines if line["message"] == "query"]


async def ask(share: float) -> None:
    async with serving(settings=small_settings(log_queries_sample=share)) as server:
        async with grpc.aio.insecure_channel(server.address) as channel:
            stub = pb_grpc.ToolRetrievalStub(channel)
            await stub.Retrieve(pb.RetrieveRequest(query=QUERY))
            await stub.RetrieveBatch(
                pb.RetrieveBatchRequest(requests=[pb.RetrieveRequest(query=each) for each in ("customer", "", "order")])
            )


async def test_the_default_logs_no_text(log: io.StringIO) -> None:
    await ask(0.0)
    assert queries(log) == [] and "Rumpelstiltskin" not in log.getvalue()


async def test_who_asks_for_all_gets_all_without_secrets(log: io.StringIO) -> None:
    await ask(1.0)
    first, *batch = queries(log)
    assert "find the customer Rumpelstiltskin" in first["query"]
    assert "abc123def456" not in log.getvalue() and "plantedKEY" not in log.getvalue()
    assert (first["preset"], first["tools"], first["logger"]) == ("words", 3, "egotools.queries")
    assert [line["query"] for line in batch] == ["customer", "order"]
