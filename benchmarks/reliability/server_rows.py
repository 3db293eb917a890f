"""Servers whose catalogue is swapped, that start, stop and are killed under callers, and callers who each see a part of a catalogue."""

from __future__ import annotations

import asyncio
import itertools
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks.command import ROOT
from benchmarks.reliability.harness import Figure, Row, asked_for, calling, replicas
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from inference import HashingEncoder
from retrieval.engine import Engine, open_engine
from services.jobs.build import build_snapshot
from services.server.catalogs import CatalogStore
from services.server.server import SERVICE_NAME, Server
from services.server.settings import ServerSettings
from tests.harness.editions import EditionStore, build_editions, editions_in, whole_request
from tests.harness.issuers import AUDIENCE, ISSUER, Issuer, key_set, write_policy

_READERS = 4
_TIMEOUT_S = 60.0
_SERVING = health_pb2.HealthCheckResponse.SERVING


@asynccontextmanager
async def _serving(stores: Mapping[str, CatalogStore], **changed: Any) -> AsyncIterator[Server]:
    settings = ServerSettings(port=0, workers=2, queue=64, drain_s=0.0, watch_s=0.0)
    server = Server(replace(settings, **changed), stores)
    await server.start()
    try:
        await server.load_stores()
        yield server
    finally:
        await server.stop(0.0)


def _mixed(folder: Path, publishes: int) -> Figure:
    """Publish two editions in turn while readers ask every kind of call."""
    replies, mixed = asyncio.run(_read_while_publishing(build_editions(folder / "s", "alpha", "beta"), publishes))
    text = f"{mixed} of {replies:,} replies mix two snapshots over {publishes:,} publishes"
    return Figure(text=text, held=mixed == 0 and replies > publishes)


async def _read_while_publishing(store: EditionStore, publishes: int) -> tuple[int, int]:
    counts: Counter[bool] = Counter()
    ended = False

    async def reader(stub: pb_grpc.ToolRetrievalAsyncStub, first: int) -> None:
        calls: tuple[Callable[[], Awaitable[Any]], ...] = (
            lambda: stub.Retrieve(whole_request()),
            lambda: stub.RetrieveBatch(pb.RetrieveBatchRequest(requests=[whole_request()] * 2)),
            lambda: stub.GetTool(pb.GetToolRequest(id="shop/list_order", schema_format=pb.SCHEMA_FORMAT_MCP)),
            lambda: stub.Neighbors(pb.NeighborsRequest(node="shop/list_order")),
        )
        for number in itertools.count(first):
            counts[len(editions_in(await calls[number % len(calls)](), store)) == 1] += 1
            if ended:
                return

    async with (
        _serving({"": CatalogStore(path=store.path)}) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        stub: pb_grpc.ToolRetrievalAsyncStub = pb_grpc.ToolRetrievalStub(channel)
        readers = [asyncio.ensure_future(reader(stub, number)) for number in range(_READERS)]
        for number in range(publishes):
            store.publish(("beta", "alpha")[number % 2])
            await server.publisher.refresh("")
        ended = True
        await asyncio.gather(*readers)
    return counts[True] + counts[False], counts[False]


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


async def _restarts(folder: Path, count: int, number: signal.Signals, callers: int) -> Figure:
    """End one of two replicas in turn by a signal, and start it again, under callers."""
    async with (
        replicas(folder, 2, GRACE_S="30") as started,
        calling([each.address for each in started], callers) as met,
    ):
        codes, slowest = Counter[int](), 0.0
        for turn in range(count):
            replica = started[turn % 2]
            replica.send(number)
            begun = time.monotonic()
            codes[await replica.ended()] += 1
            slowest = max(slowest, time.monotonic() - begun)
            await replica.start()
            await asyncio.sleep(1.0)
    wanted = 0 if number == signal.SIGTERM else -number
    text = f"{codes[wanted]} of {count} ended with code {wanted}, in {slowest:.1f} s at most; {met.text}"
    return Figure(text=text, held=codes[wanted] == count and slowest <= 30 and not met.errors)


async def _foreign_tools(folder: Path, *, queries: int, tenants: int) -> Figure:
    """Random queries of callers who each see other tools: none gets a tool that it may not see, and all get k."""
    chance = random.Random(14)
    build_snapshot([str(ROOT / "examples" / "enterprise" / "catalog")], folder / "store", encoder=HashingEncoder())
    engine = open_engine(folder / "store")
    ids = list(engine.tool_ids(0, 100_000))
    names = {each.encode() for each in ids}
    words = sorted({word for each in ids for word in engine.tool(each).description.split() if word.isalnum()})
    issuer = Issuer()
    (folder / "keys.json").write_text(key_set(issuer), encoding="utf-8")
    rule = {"match": {"claims": {"tools": "*"}}, "roles": ["read"], "filters": {"id": ["{tools}"]}}
    settings = {
        "access_policy": write_policy(folder / "policy.yaml", rule),
        "jwks": str(folder / "keys.json"),
        "jwt_issuer": ISSUER,
        "jwt_audience": AUDIENCE,
    }
    callers: list[tuple[str, frozenset[str]]] = []
    for number in range(tenants):
        seen = frozenset(chance.sample(ids, chance.randint(10, 60)))
        callers.append((issuer.token(sub=f"tenant {number}", tools=sorted(seen), lasts_s=7_200), seen))
    foreign = short = 0

    async def ask(stub: Any, number: int) -> None:
        nonlocal foreign, short
        (token, seen), own = chance.choice(callers), random.Random(number)
        metadata = (("authorization", f"Bearer {token}"),)
        k = own.randint(1, 10)
        query = " ".join(["list", *own.choices(words, k=own.randint(1, 15))])
        message = pb.RetrieveRequest(query=query, k=k, explain=True, preset=own.choice(("", "", "fast")))
        reply = await stub.Retrieve(message, metadata=metadata, timeout=_TIMEOUT_S)
        graph = await stub.Neighbors(
            pb.NeighborsRequest(node=own.choice(sorted(seen)), limit=1_000),
            metadata=metadata,
            timeout=_TIMEOUT_S,
        )
        content = reply.SerializeToString() + graph.SerializeToString()
        hidden = (name for name in names if name.decode() not in seen)
        # An id that is the beginning of a visible one is in that.
        foreign += sum(name in content and not any(name.decode() in other for other in seen) for name in hidden)
        short += len(reply.tools) != k and message.preset == ""

    served = {"": CatalogStore(path=folder / "store")}
    async with (
        _serving(served, queue=1_000, **settings) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        stub = pb_grpc.ToolRetrievalStub(channel)
        for start in range(0, queries, 16):
            await asyncio.gather(*(ask(stub, number) for number in range(start, min(start + 16, queries))))
    text = (
        f"{foreign} foreign tools and {short} short answers in {queries:,} queries and as many ego graphs of {tenants} "
        f"callers over {len(ids)} tools"
    )
    return Figure(text=text, held=not foreign and not short)


ROWS = (
    Row(
        "swap-mixed",
        "No reply mixes two snapshots while one after the other is published",
        "0 of 1,000 publishes under constant reads",
        partial(_mixed, publishes=1_000),
    ),
    Row(
        "readiness",
        "The process is alive at once; the service is ready, and answers, only after its snapshot is checked and warm",
        "0 OK replies before SERVING",
        partial(_readiness, starts=20),
        fast=True,
    ),
    Row(
        "restarts",
        "SIGTERM to one of two replicas in turn, 32 busy callers with the shipped client",
        "0 client errors, exit code 0 within 30 s, 50 restarts",
        asked_for(partial(_restarts, count=50, number=signal.SIGTERM, callers=32)),
    ),
    Row(
        "kill-replica",
        "SIGKILL to one of two replicas in turn, 8 callers with the shipped client",
        "0 client errors, 10 kills",
        asked_for(partial(_restarts, count=10, number=signal.SIGKILL, callers=8)),
    ),
    Row(
        "tenants",
        "Random queries of callers who each see other tools, with explanations and ego graphs",
        "0 foreign tools in 10,000 queries of 50 callers; still k tools",
        asked_for(partial(_foreign_tools, queries=10_000, tenants=50)),
    ),
)
