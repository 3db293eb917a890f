"""Callers that mean harm, against one server in a process of its own, with an honest caller at another address beside them."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from benchmarks.reliability.harness import QUERY, Callers, Figure, Replica, Row, asked_for, calling, replicas, rss_mb
from egotools import AsyncClient, ClientError
from egotools.v1 import egotools_pb2 as pb
from tests.harness.other_peer import other_peer
from tests.harness.raw_http2 import call_frames, connection, reset_frame

_FUZZ_BAR = 1_000_000
_MESSAGES = int(os.environ.get("MESSAGES", _FUZZ_BAR))
_SERVICE = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name
_MOST_WAIT_S = 5.0  # of a neighbour: the dearest request takes two seconds, and ends first


@asynccontextmanager
async def _attacked(folder: Path, **settings: str) -> AsyncIterator[tuple[Replica, Callers]]:
    async with replicas(folder, 1, **settings) as (server,), other_peer(server.address) as elsewhere:
        async with calling([elsewhere], 1) as honest:
            yield server, honest


async def _most_rss_mb(server: Replica, work: Awaitable[Any]) -> float:
    """The largest memory of the server while ``work`` is done."""
    task, most = asyncio.ensure_future(work), 0.0
    while not task.done():
        most = max(most, rss_mb(server.pid))
        await asyncio.sleep(0.01)
    await task
    return max(most, rss_mb(server.pid))


async def _codes(calls: list[Any]) -> Counter[str]:
    found: Counter[str] = Counter()
    for call in calls:
        try:
            await call
            found["OK"] += 1
        except grpc.aio.AioRpcError as error:
            found[error.code().name] += 1
    return found


async def _empties(folder: Path, calls: int) -> Figure:
    async with _attacked(folder) as (server, honest), grpc.aio.insecure_channel(server.address) as channel:
        raw: Any = channel.unary_unary(f"/{_SERVICE}/RetrieveBatch")
        data, before = b"\x0a\x00" * 2_000_000, rss_mb(server.pid)
        codes: Counter[str] = Counter()

        async def attack() -> None:
            codes.update(await _codes([raw(data, timeout=60) for _ in range(calls)]))

        grown = await _most_rss_mb(server, attack()) - before
    text = f"{calls} calls: {dict(codes)}, memory + {grown:.0f} MB; neighbour: {honest.text}"
    return Figure(text=text, held=grown < 100 and not honest.errors)


async def _burst(folder: Path, calls: int) -> Figure:
    async with _attacked(folder) as (server, honest), AsyncExitStack() as stack:
        options = [("grpc.use_local_subchannel_pool", 1)]
        clients = [await stack.enter_async_context(AsyncClient(server.address, options=options)) for _ in range(8)]
        for client in clients:
            await client.retrieve(QUERY, k=5)
        met: Counter[str] = Counter()

        async def ask(client: AsyncClient) -> None:
            try:
                await client.retrieve(QUERY, k=5, timeout_s=60)
                met["OK"] += 1
            except ClientError as error:
                met[f"{error.code} {error.reason}"] += 1

        await asyncio.gather(*(ask(clients[n % len(clients)]) for n in range(calls)))
    cancelled = sum(count for kind, count in met.items() if "CANCELLED" in kind)
    typed = {"OK", "RESOURCE_EXHAUSTED OVERLOADED", "UNAVAILABLE "}
    text = f"{calls:,} calls at once: {dict(met)}; {honest.text}"
    return Figure(text=text, held=not cancelled and set(met) <= typed and not honest.errors)


async def _resets(folder: Path, streams: int) -> Figure:
    message = pb.RetrieveRequest(query=QUERY).SerializeToString()
    async with _attacked(folder) as (server, honest):
        honest.seconds.clear()
        async with connection(server.address) as (reader, writer):
            drain = asyncio.ensure_future(_read_all(reader))
            with suppress(OSError):
                for begun in range(0, streams, 100):
                    frames = (
                        call_frames(n, f"/{_SERVICE}/Retrieve", message) + reset_frame(n)
                        for n in range(begun, begun + 100)
                    )
                    writer.write(b"".join(frames))
                    await writer.drain()
            await asyncio.sleep(3.0)
            drain.cancel()
    return Figure(text=f"{streams:,} streams opened and reset: {honest.text}", held=not honest.errors)


async def _read_all(reader: asyncio.StreamReader) -> None:
    with suppress(OSError, asyncio.CancelledError):
        while await reader.read(65_536):
            pass


async def _fuzz(folder: Path, messages: int) -> Figure:
    """Mutated messages to every method; a typed refusal or an answer for each."""
    chance = random.Random(7)
    seeds = {
        "Retrieve": pb.RetrieveRequest(
            query=QUERY, k=3, filters={"department": pb.StringList(values=["x"])}, done=["a"], have={"b": "c"}
        ),
        "RetrieveBatch": pb.RetrieveBatchRequest(requests=[pb.RetrieveRequest(query=QUERY, k=1)] * 2),
        "GetTool": pb.GetToolRequest(id="a"),
        "Neighbors": pb.NeighborsRequest(node="a", predicates=["b"], limit=3),
        "GetCatalog": pb.GetCatalogRequest(page_size=2, page_token="abc"),
        "Plan": pb.PlanRequest(goals=["a"], query=QUERY, done=["b"], have={"c": "d"}),
    }
    codes: Counter[str] = Counter()
    async with replicas(folder, 1, QUEUE="1000", MAX_PEER_CALLS="5000") as (server,):
        async with grpc.aio.insecure_channel(server.address) as channel:
            methods: dict[str, Any] = {name: channel.unary_unary(f"/{_SERVICE}/{name}") for name in seeds}
            names = list(seeds)
            for begun in range(0, messages, 64):
                calls = []
                for number in range(begun, min(begun + 64, messages)):
                    name = names[number % len(names)]
                    calls.append(methods[name](_mutated(seeds[name].SerializeToString(), chance), timeout=60))
                codes += await _codes(calls)
        alive = rss_mb(server.pid) > 0
    text = f"{codes.total():,} mutated messages (seed 7): {dict(codes)}"
    if codes.total() < _FUZZ_BAR:
        text += f"; too few for the bar of {_FUZZ_BAR:,}: leave MESSAGES out, or set it to more"
    wrong = {"UNKNOWN", "INTERNAL", "CANCELLED", "UNAVAILABLE"} & codes.keys()
    return Figure(text=text, held=alive and not wrong and codes.total() >= _FUZZ_BAR)


def _mutated(raw: bytes, chance: random.Random) -> bytes:
    data = bytearray(raw)
    for _ in range(chance.randint(1, 6)):
        kind, at = chance.randrange(4), chance.randrange(len(data) + 1)
        if kind == 0 and at < len(data):
            data[at] = chance.randrange(256)
        elif kind == 1:
            data[at:at] = chance.randbytes(chance.randint(1, 8))
        elif kind == 2:
            del data[at : at + chance.randint(1, 8)]
        else:
            data += data[at : at + chance.randint(1, 20)]
    return bytes(data)


ROWS = (
    Row(
        "empty-batches",
        "16 calls of 2,000,000 empty requests each",
        "memory + < 100 MB, neighbour served",
        asked_for(partial(_empties, calls=16)),
        fast=True,
    ),
    Row(
        "burst",
        "6,000 calls at once with the shipped client",
        "answers, OVERLOADED or UNAVAILABLE; none CANCELLED; 0 errors of a neighbour",
        asked_for(partial(_burst, calls=6_000)),
    ),
    Row(
        "rapid-reset",
        "60,000 streams opened and reset over one connection",
        "0 errors of a neighbour",
        asked_for(partial(_resets, streams=60_000)),
        fast=True,
    ),
    Row(
        "fuzz-calls",
        "Mutated messages to every method over gRPC",
        f"{_FUZZ_BAR:,} executions: a typed refusal or an answer for each, none UNKNOWN or INTERNAL",
        asked_for(partial(_fuzz, messages=_MESSAGES)),
    ),
)
