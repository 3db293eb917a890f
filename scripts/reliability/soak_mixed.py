"""Hours of mixed calls while snapshots are swapped and faults happen: nothing fails, nothing grows.

``SECONDS=7200 make soak``. Two replicas serve one store, whose two snapshots are published in turn. The second is
killed now and then and started again; memory, files and threads are those of the first.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
import numpy as np

from egotools import AsyncClient, ClientError
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from examples.company.shipped_documents import ENTERPRISE
from ontology.errors import InvalidArgumentError
from ontology.reporting import no_progress
from retrieval.engine import open_engine
from retrieval.snapshot.publish import publish_again, published_id
from scripts.reliability.replica import Replica
from scripts.reliability.row import Figure, Row
from scripts.speed.speed_queries import bench_queries, mixed
from services.jobs.build import build
from services.jobs.plans import BuildPlan
from services.server.process import server_process

__all__ = ["ROWS"]

SECONDS = float(os.environ.get("SECONDS", "7200"))
RATE = float(os.environ.get("RATE", "10"))
"""Calls a second. Half of what the machine answers is the rate of the checklist: set it for yours."""
_SWAP_S, _FAULT_S, _SAMPLE_S, _WINDOW_S = 10.0, 30.0, 5.0, 120.0
"""The window of two minutes is chosen: a dozen swaps, and the floor between them."""
_LEAST_WINDOWS = 10  # chosen: fewer give no slope of 1 MiB an hour
_CONNECTIONS = 8
_BATCH, _CANCELLED, _K, _MANY = 4, 20, 10, 10_000
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Sample:
    """What the first replica held at one moment: seconds since the start, bytes without mapped files, files, threads."""

    at_s: float
    private: int
    files: int
    threads: int


@dataclass(slots=True)
class _Soak:
    """What happened so far."""

    address: str
    pid: int
    second: Replica
    shared: Sequence[str]
    started: float = field(default_factory=time.monotonic)
    calls: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    spent: list[tuple[float, float]] = field(default_factory=list)
    snapshots: Counter[str] = field(default_factory=Counter)
    samples: list[_Sample] = field(default_factory=list)
    swaps: int = 0
    kills: int = 0


def _store(folder: Path) -> tuple[Path, tuple[str, str], Sequence[str]]:
    """A store with two snapshots, of the shipped catalogue and of all but one of its documents; and the tools of both."""
    store = folder / "store"
    documents = sorted(str(path) for path in (ENTERPRISE / "catalog").iterdir())
    plan = BuildPlan(addresses=tuple(documents), store=store)
    ids = []
    for addresses in (documents, [path for path in documents if not path.endswith("events.json")]):
        build(replace(plan, addresses=tuple(addresses)), no_progress)
        ids.append(published_id(store))
    # The second has the tools that both have: asked for any other one, one of the two would rightly answer NOT_FOUND.
    shared = open_engine(store).tool_ids(0, _MANY)
    if len(set(ids)) < len(ids):
        raise InvalidArgumentError("the two snapshots are the same", subject="soak")
    return store, (ids[0], ids[1]), shared


def soak(folder: Path) -> Figure:
    """Run for ``SECONDS``; print a line a minute."""
    store, ids, shared = _store(folder)
    with server_process(store) as ready:
        state = _Soak(address=ready["address"], pid=ready["pid"], second=Replica(store, folder, {}), shared=shared)
        asyncio.run(_run(state, store, ids))
    return _judged(state)


async def _run(state: _Soak, store: Path, ids: tuple[str, str]) -> None:
    stop = asyncio.Event()
    every = [
        _every(stop, _SWAP_S, lambda: _swap(state, store, ids)),
        _every(stop, _FAULT_S, lambda: _faults(state)),
        _every(stop, _SAMPLE_S, lambda: _sample(state)),
        _every(stop, 60.0, lambda: _tell(state)),
    ]
    await state.second.start()
    try:
        tasks = [asyncio.create_task(each) for each in every]
        await _load(state)
        stop.set()
        await asyncio.gather(*tasks)
    finally:
        await state.second.stop()


async def _every(stop: asyncio.Event, seconds: float, act: Callable[[], Awaitable[None]]) -> None:
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds)
            return
        await act()


async def _load(state: _Soak) -> None:
    chance, queries = random.Random(0), mixed(bench_queries())
    own = [("grpc.use_local_subchannel_pool", 1)]
    running: set[asyncio.Task[None]] = set()
    async with contextlib.AsyncExitStack() as stack:
        both = f"ipv4:{state.address},{state.second.address}"
        clients = [await stack.enter_async_context(AsyncClient(both, options=own)) for _ in range(_CONNECTIONS)]
        due = time.monotonic()
        while time.monotonic() - state.started < SECONDS:
            due += chance.expovariate(RATE)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            task = asyncio.create_task(_call(state, chance.choice(clients), chance.choice(queries), chance.random()))
            running.add(task)
            task.add_done_callback(running.discard)
        await asyncio.gather(*running)


async def _call(state: _Soak, client: AsyncClient, query: str, kind: float) -> None:
    started = time.monotonic()
    state.calls += 1
    try:
        if kind < 0.7:
            answer = await client.retrieve(query, k=_K, explain=kind < 0.35)
            state.snapshots[answer.snapshot_id] += 1
            state.spent.append((started - state.started, time.monotonic() - started))
        elif kind < 0.8:
            await client.retrieve_batch([query] * _BATCH)
        elif kind < 0.9:
            await client.get_tool(state.shared[int(kind * 1e6) % len(state.shared)], schema_format="openai")
        else:
            await client.neighbors(state.shared[int(kind * 1e6) % len(state.shared)], limit=50)
    except ClientError as error:
        state.failures[error.code] += 1


async def _swap(state: _Soak, store: Path, ids: tuple[str, str]) -> None:
    await asyncio.to_thread(publish_again, store, ids[state.swaps % 2 - 1])
    state.swaps += 1


async def _faults(state: _Soak) -> None:
    """Cancelled calls, calls without time, bytes that are no message, a caller that never reads, a killed replica."""
    host, _, port = state.address.rpartition(":")
    async with grpc.aio.insecure_channel(state.address) as channel:
        stub: Any = pb_grpc.ToolRetrievalStub(channel)
        calls = [stub.Retrieve(pb.RetrieveRequest(query="order paper")) for _ in range(_CANCELLED)]
        for call in calls[: _CANCELLED // 2]:
            call.cancel()
        short = [stub.Retrieve(pb.RetrieveRequest(query="order paper"), timeout=0.001) for _ in range(_CANCELLED)]
        raw: Any = channel.unary_unary("/egotools.v1.ToolRetrieval/Retrieve")
        await asyncio.gather(*calls, *short, raw(b"\xff\xff no message"), return_exceptions=True)
    for sent in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00" + b"x" * 512,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 90,
    ):
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1) as connection:
            connection.sendall(sent)
    if state.kills * 10 < state.swaps:  # every second time or so
        await state.second.stop()
        state.kills += 1
        await state.second.start()


async def _sample(state: _Soak) -> None:
    process = Path(f"/proc/{state.pid}")
    rollup = (process / "smaps_rollup").read_text(encoding="utf-8").splitlines()
    private = next(int(line.split()[1]) * 1024 for line in rollup if line.startswith("Anonymous:"))
    files, threads = len(list((process / "fd").iterdir())), len(list((process / "task").iterdir()))
    state.samples.append(_Sample(time.monotonic() - state.started, private, files, threads))


async def _tell(state: _Soak) -> None:
    last = state.samples[-1]
    print(
        f"{last.at_s:6.0f} s  {state.calls} calls, failed {dict(state.failures) or 0}, {state.swaps} swaps, {state.kills} kills, "
        f"{last.private / _MIB:.1f} MiB, {last.files} files, {last.threads} threads",
        flush=True,
    )


def _judged(state: _Soak) -> Figure:
    """The first third warms up; slopes are those of the rest."""
    warm = [sample for sample in state.samples if sample.at_s > SECONDS / 3]
    slope, of_all = _slope(_floors(warm)), _slope([(sample.at_s, sample.private) for sample in warm])
    files, threads = ([getattr(sample, name) for sample in warm] for name in ("files", "threads"))
    half = len(warm) // 2
    drifts = [float(np.median(each[half:]) - np.median(each[:half])) for each in (files, threads)]
    p99 = [
        float(np.percentile([spent for at, spent in state.spent if low <= at < low + SECONDS / 3], 99)) * 1e3
        for low in (SECONDS / 3, SECONDS * 2 / 3)
    ]
    failed = sum(state.failures.values())
    text = (
        f"{SECONDS:.0f} s, {state.calls} calls at {RATE:g} a second (a fixed rate, not a share of the peak), {state.swaps} swaps, {state.kills} killed processes: "
        f"{failed} failed {dict(state.failures) or ''}; memory between swaps {slope:+.1f} MiB/h (with the second snapshot of a swap {of_all:+.1f}); "
        f"files {drifts[0]:+.0f}, threads {drifts[1]:+.0f}; "
        f"99th percentile {p99[0]:.0f} → {p99[1]:.0f} ms; snapshots seen {len(state.snapshots)}"
    )
    grown = not slope <= 1 or max(drifts) > 1  # also where nothing was measured
    return Figure(text=text, held=not failed and not grown and p99[1] <= 1.1 * p99[0] and len(state.snapshots) == 2)


def _floors(samples: Sequence[_Sample]) -> list[tuple[float, float]]:
    """Of each two minutes the least memory: during a swap two snapshots are held, and samples meet swaps by chance."""
    windows: dict[int, list[_Sample]] = defaultdict(list)
    for sample in samples:
        windows[int(sample.at_s // _WINDOW_S)].append(sample)
    return [((at + 0.5) * _WINDOW_S, min(each.private for each in held)) for at, held in windows.items()]


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """MiB an hour, by least squares over (seconds, bytes); not a number for too few of them."""
    if len(points) < _LEAST_WINDOWS:
        return float("nan")
    hours, sizes = np.array(points).T / np.array([[3600], [_MIB]])
    return float(np.polyfit(hours, sizes, 1)[0])


ROWS = (
    Row(
        key="soak",
        item="Mixed calls for hours, with a swap every 10 s, killed processes, cancelled calls and bytes that are no message",
        bar="at a fixed rate: 0 failed calls; memory between swaps ≤ +1 MiB/h; files and threads flat; 99th percentile ≤ 1.1 ×",
        measure=soak,
        fast=False,
    ),
)
