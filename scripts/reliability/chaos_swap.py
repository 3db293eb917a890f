"""Catalogues that are swapped while they are served: no mixed reply, no failed call, tenants apart, and how long it takes."""

from __future__ import annotations

import asyncio
import itertools
import random
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from egotools import AsyncClient, PreconditionError
from egotools.admin import AdminClient
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from inference import DEFAULT_ENCODER
from scripts.reliability.row import Figure, Row
from services.server.catalogs import CatalogStore
from services.server.process import server_process
from services.server.server import Server
from services.server.settings import ServerSettings
from tests.harness.editions import QUERY, EditionStore, build_editions, editions_in, whole_request

__all__ = ["ROWS"]

_READERS = 4
_LOAD = 0.5  # of the capacity that was measured just before
_P99_FACTOR, _RSS_FACTOR = 1.1, 1.1


@asynccontextmanager
async def _serving(stores: Mapping[str, CatalogStore], watch_s: float = 0.0) -> AsyncIterator[Server]:
    server = Server(ServerSettings(port=0, workers=2, queue=64, drain_s=0.0, watch_s=watch_s), stores)
    await server.start()
    try:
        await server.load_stores()
        yield server
    finally:
        await server.stop(0.0)


# -- row 4 -------------------------------------------------------------------------------------------------------------


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
            await server.publisher.publish("", store.ids[("beta", "alpha")[number % 2]])
        ended = True
        await asyncio.gather(*readers)
    return counts[True] + counts[False], counts[False]


# -- rows 5 and 6 ------------------------------------------------------------------------------------------------------


def _under_load(folder: Path, swaps: int, steady_s: float) -> Figure:
    """Swap while an open loop of requests arrives at half of the capacity."""
    store = build_editions(folder / "s", "alpha", "beta", tools=2_000, encoder=DEFAULT_ENCODER)
    with server_process(store.path, "--admin-port", "0", EGOTOOLS_WATCH_S="0") as said:
        return asyncio.run(_measure_load(said, store, swaps, steady_s))


async def _measure_load(said: Mapping[str, Any], store: EditionStore, swaps: int, steady_s: float) -> Figure:
    def publish_all(count: int) -> None:
        with AdminClient(said["admin_address"]) as admin:
            for number in range(count):
                admin.publish(store.ids[("beta", "alpha")[number % 2]])

    async with AsyncClient(said["address"]) as client:
        await asyncio.to_thread(publish_all, 6)  # so that the allocator has seen two engines at once
        rate = _LOAD * await _capacity(client, 5.0)
        steady, failed = await _arrivals(client, rate, asyncio.sleep(steady_s))
        before = _rss(said["pid"])
        swapped, failed_swapping = await _arrivals(client, rate, asyncio.to_thread(publish_all, swaps))
        await _arrivals(client, rate, asyncio.sleep(2.0))
        after = _rss(said["pid"])
    p99, p99_swap = _p99(steady), _p99(swapped)
    failures = failed + failed_swapping
    text = (
        f"{failures} of {len(steady) + len(swapped):,} calls failed over {swaps} swaps at {rate:.0f}/s; "
        f"p99 {p99_swap:.1f} ms / {p99:.1f} ms steady = {p99_swap / p99:.2f}; "
        f"p50 {statistics.median(swapped):.1f} / {statistics.median(steady):.1f} ms; "
        f"RSS {after:.0f} / {before:.0f} MB = {after / before:.2f}"
    )
    held = failures == 0 and p99_swap <= _P99_FACTOR * p99 and after <= _RSS_FACTOR * before
    return Figure(text=text, held=held)


async def _capacity(client: AsyncClient, seconds: float) -> float:
    """Calls a second of a closed loop."""
    end, done = time.monotonic() + seconds, 0

    async def caller() -> None:
        nonlocal done
        while time.monotonic() < end:
            await client.retrieve(QUERY)
            done += 1

    await asyncio.gather(*(caller() for _ in range(_READERS)))
    return done / seconds


async def _arrivals(client: AsyncClient, rate: float, during: Awaitable[Any]) -> tuple[list[float], int]:
    """Milliseconds of each call, from when it should have begun, and the number that failed, while ``during`` lasts."""
    spent: list[float] = []
    failed = 0

    async def call(due: float) -> None:
        nonlocal failed
        try:
            await client.retrieve(QUERY)
            spent.append((time.monotonic() - due) * 1e3)
        except Exception:
            failed += 1

    ended = asyncio.ensure_future(during)
    calls, draw, due = set(), random.Random(0), time.monotonic()
    while not ended.done():
        due += draw.expovariate(rate)
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        calls.add(asyncio.ensure_future(call(due)))
    await asyncio.gather(ended, *calls)
    return spent, failed


def _p99(values: list[float]) -> float:
    return sorted(values)[int(0.99 * len(values))]


def _rss(pid: int) -> float:
    """Resident memory in MB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def _rollback_time(folder: Path, tools: int, count: int) -> Figure:
    """Roll back and forth through the admin service."""
    store = build_editions(folder / "s", "alpha", "beta", tools=tools)
    spent = []
    with (
        server_process(store.path, "--admin-port", "0", EGOTOOLS_WATCH_S="0") as said,
        AdminClient(said["admin_address"]) as admin,
    ):
        for _ in range(count):
            admin.publish(store.ids["beta"])
            started = time.monotonic()
            found = admin.rollback()
            spent.append(time.monotonic() - started)
            assert_served = admin.catalogs()[0].snapshot_id
            if (found.snapshot_id, assert_served) != (store.ids["alpha"],) * 2:
                return Figure(text=f"the rollback served {assert_served}", held=False)
    text = f"slowest of {count}: {max(spent):.2f} s, median {statistics.median(spent):.2f} s, {tools:,} tools"
    return Figure(text=text, held=max(spent) <= 1.0)


# -- rows 25 and 29 ----------------------------------------------------------------------------------------------------


def _tenants(folder: Path, tenants: int, queries: int) -> Figure:
    """Ask each tenant for its own and others' words; count tools of others, and answers with fewer tools than k."""
    stores = {f"tenant{n:02}": build_editions(folder / f"s{n}", f"tenant{n:02}") for n in range(tenants)}
    foreign, short = asyncio.run(_ask_tenants(stores, queries))
    text = f"{foreign} of {queries:,} replies with anything of another tenant, {short} with fewer than k tools"
    return Figure(text=f"{text}; {tenants} tenants", held=foreign == short == 0)


async def _ask_tenants(stores: Mapping[str, EditionStore], queries: int) -> tuple[int, int]:
    every = EditionStore(Path(), {name: store.ids[name] for name, store in stores.items()})
    draw, names = random.Random(25), sorted(stores)
    foreign = short = 0
    entries = {name: CatalogStore(path=store.path) for name, store in stores.items()}
    async with _serving(entries) as server, grpc.aio.insecure_channel(server.address) as channel:
        stub: pb_grpc.ToolRetrievalAsyncStub = pb_grpc.ToolRetrievalStub(channel)

        async def ask(_: int) -> None:
            nonlocal foreign, short
            tenant, other = draw.choice(names), draw.choice(names)
            words = draw.sample(["list", "order", "cancel", "customer", f"{other} number", f"edition {other}"], 4)
            request = pb.RetrieveRequest(query=" ".join(words), k=5, explain=True)
            reply = await stub.Retrieve(request, metadata=(("egotools-tenant", tenant),))
            foreign += not _only(reply, tenant, every)
            short += len(reply.tools) < request.k

        for start in range(0, queries, 16):
            await asyncio.gather(*map(ask, range(start, min(start + 16, queries))))
    return foreign, short


def _only(reply: pb.RetrieveResponse, tenant: str, every: EditionStore) -> bool:
    """Whether all tools of a reply are of the tenant. Words of the request that stand in reasons are the caller's own."""
    said = [reply.snapshot_id, *(f"{tool.description} {tool.schema_json} {tool.id}" for tool in reply.tools)]
    said += [edge.tail + edge.head for tool in reply.tools for edge in tool.reasons.edges]
    said += [entry.node for tool in reply.tools for entry in tool.reasons.entries]
    return editions_in(said, every) == {tenant}


def _minimum(folder: Path, publishes: int) -> Figure:
    """Two replicas over one store: a reader that asks for what it has seen never gets anything older."""
    older, refused, replies = asyncio.run(_read_forward(folder, publishes))
    text = (
        f"{older} of {replies:,} replies older than one seen before; {refused} refused by the replica that was behind"
    )
    return Figure(text=f"{text}; {publishes} publishes", held=older == 0 and replies > publishes)


async def _read_forward(folder: Path, publishes: int) -> tuple[int, int, int]:
    editions = [f"edition{number:02}" for number in range(publishes + 1)]
    store = build_editions(folder / "s", *editions)
    order = [store.ids[edition] for edition in editions]
    (store.path / "history.jsonl").unlink()  # of the builds
    entries = {"": CatalogStore(path=store.path)}
    older = refused = replies = 0
    ended = False

    async def read_on(clients: tuple[AsyncClient, ...]) -> None:
        nonlocal older, refused, replies
        seen = 0
        for client in itertools.cycle(clients):
            if ended:
                return
            try:
                answer = await client.retrieve(QUERY, min_snapshot=order[seen])
            except PreconditionError:
                refused += 1
                continue
            replies += 1
            older += order.index(answer.snapshot_id) < seen
            seen = max(seen, order.index(answer.snapshot_id))

    async with (
        _serving(entries, 0.05) as one,
        _serving(entries, 0.11) as two,
        AsyncClient(one.address) as first,
        AsyncClient(two.address) as second,
    ):
        reader = asyncio.ensure_future(read_on((first, second)))
        for edition in editions[1:]:
            await asyncio.to_thread(store.publish, edition)
            await asyncio.sleep(0.15)
        ended = True
        await reader
    return older, refused, replies


ROWS = (
    Row(
        key="swap-mixed",
        item="No reply mixes two snapshots while one after the other is published",
        bar="0 of 1,000 publishes under constant reads",
        measure=partial(_mixed, publishes=1_000),
        fast=False,
    ),
    Row(
        key="swap-load",
        item="A swap under load fails no call, and leaves latency and memory as they were",
        bar="100 swaps: 0 failed calls, p99 ≤ 1.1 × steady (2 × at the very most), RSS after ≤ 1.1 × before",
        measure=partial(_under_load, swaps=100, steady_s=20.0),
        fast=False,
    ),
    Row(
        key="rollback",
        item="A rollback serves the snapshot before, without a build",
        bar="≤ 1 s with 16,000 tools",
        measure=partial(_rollback_time, tools=16_000, count=10),
        fast=False,
    ),
    Row(
        key="tenants-apart",
        item="A tenant never gets anything of another one",
        bar="0 of 10,000 requests over 50 tenants, and k tools each",
        measure=partial(_tenants, tenants=50, queries=10_000),
        fast=False,
    ),
    Row(
        key="min-snapshot",
        item="Who has seen a snapshot gets nothing older from another replica",
        bar="0 older replies over 20 publishes and two replicas",
        measure=partial(_minimum, publishes=20),
        fast=True,
    ),
)
