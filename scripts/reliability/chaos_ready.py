"""Readiness: what health says of a server that starts, serves and stops, and how soon."""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from egotools.v1 import egotools_pb2_grpc as pb_grpc
from retrieval.engine import Engine
from scripts.reliability.row import Figure, Row
from services.server.catalogs import CatalogStore
from services.server.process import server_process
from services.server.server import SERVICE_NAME, Server
from services.server.settings import ServerSettings
from tests.harness.editions import build_editions, whole_request

__all__ = ["ROWS"]

_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


def _readiness(folder: Path, starts: int) -> Figure:
    """Ask a server from its first moment on: every call, and after each OK reply its health."""
    store = CatalogStore(path=build_editions(folder / "s", "alpha").path)
    early = dead = refused = 0
    for _ in range(starts):
        found = asyncio.run(_one_start(store))
        early, dead, refused = early + found[0], dead + found[1], refused + found[2]
    text = f"{early} OK replies before SERVING, {refused:,} refused before it, {dead} starts without liveness"
    return Figure(text=f"{text}; {starts} starts", held=early == dead == 0 and refused >= starts)


async def _one_start(store: CatalogStore) -> tuple[int, int, int]:
    released = threading.Event()

    def load() -> Engine:
        released.wait(10.0)
        return store.open()

    server = Server(ServerSettings(port=0, workers=2, drain_s=0.0))
    address = await server.start()
    loading = asyncio.ensure_future(server.load(load))
    early = refused = 0
    async with grpc.aio.insecure_channel(address) as channel:
        stub: pb_grpc.ToolRetrievalAsyncStub = pb_grpc.ToolRetrievalStub(channel)
        alive = await _health(channel, "") == _SERVING
        while True:
            ready_before = await _health(channel, SERVICE_NAME) == _SERVING
            try:
                await stub.Retrieve(whole_request())
            except grpc.aio.AioRpcError:
                refused += 1
                if refused == 5:
                    released.set()
                continue
            early += await _health(channel, SERVICE_NAME) != _SERVING
            if ready_before:
                break
    await loading
    await server.stop(0.0)
    return early, not alive, refused


async def _health(channel: grpc.aio.Channel, service: str) -> int:
    stub = health_pb2_grpc.HealthStub(channel)
    return int((await stub.Check(health_pb2.HealthCheckRequest(service=service))).status)


def _watch(folder: Path, trials: int) -> Figure:
    """How long after a change a watcher knows it: SERVING after the load, NOT_SERVING after the stop began."""
    store = CatalogStore(path=build_editions(folder / "s", "alpha").path)
    spent: list[float] = []
    unknown = 0
    for _ in range(trials):
        found, said_unknown = asyncio.run(_one_watch(store))
        spent += found
        unknown += said_unknown
    text = f"slowest of {len(spent)} changes {max(spent) * 1e3:.0f} ms; {unknown} of {trials} SERVICE_UNKNOWN"
    return Figure(text=text, held=max(spent) <= 1.0 and unknown == trials)


async def _one_watch(store: CatalogStore) -> tuple[list[float], bool]:
    server = Server(ServerSettings(port=0, workers=2, drain_s=0.1))
    address = await server.start()
    async with grpc.aio.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        watch: Any = stub.Watch(health_pb2.HealthCheckRequest(service=SERVICE_NAME))
        nobody: Any = stub.Watch(health_pb2.HealthCheckRequest(service="nobody"))
        said_unknown = (await nobody.read()).status == _UNKNOWN
        await watch.read()
        spent = []
        await server.load(store.open)
        for status, change in ((_SERVING, None), (_NOT_SERVING, server.stop(5.0))):
            changing = asyncio.ensure_future(change) if change else None
            started = time.monotonic()
            while (await watch.read()).status != status:
                pass
            spent.append(time.monotonic() - started)
            if changing is not None:
                await changing
        with suppress(asyncio.CancelledError, grpc.aio.AioRpcError):
            nobody.cancel()
    return spent, said_unknown


def _cold_start(folder: Path, tools: int, starts: int) -> Figure:
    """From the start of the process to SERVING, with the encoder that needs no model."""
    store = build_editions(folder / "s", "alpha", tools=tools)
    spent = []
    for _ in range(starts):
        started = time.monotonic()
        with server_process(store.path):
            spent.append(time.monotonic() - started)
    text = f"slowest of {starts}: {max(spent):.1f} s, median {statistics.median(spent):.1f} s, {tools:,} tools"
    return Figure(text=text, held=max(spent) <= 5.0)


ROWS = (
    Row(
        key="readiness",
        item="The process is alive at once; the service is ready, and answers, only after its snapshot is checked and warm",
        bar="0 OK replies before SERVING",
        measure=partial(_readiness, starts=20),
    ),
    Row(
        key="health-watch",
        item="A watcher of health sees a change; an unknown service is SERVICE_UNKNOWN",
        bar="≤ 1 s",
        measure=partial(_watch, trials=20),
    ),
    Row(
        key="cold-start",
        item="A server serves soon after its process starts, the load of a model apart",
        bar="≤ 5 s with 16,000 tools",
        measure=partial(_cold_start, tools=16_000, starts=5),
        fast=False,
    ),
)
