"""Speed of a server as ratios within one run: against the bare encoder, against retrieval in process, and under load.

There is one server for each processor, and none keeps vectors of requests: these come again and again. The client is this process, which shares the processors; a speed of the bare
encoder is measured with as many processes in the same minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import statistics
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from egotools import AsyncClient
from examples.company.shipped_documents import ENTERPRISE
from inference import load_encoder
from ontology.reporting import no_progress
from retrieval.engine import open_engine
from retrieval.query.request import Request
from scripts.reliability.row import Figure, Row
from scripts.speed.load import Ask, closed_loop, measured_point, open_loop, poisson_schedule
from scripts.speed.speed_queries import bench_queries, mixed
from scripts.speed.speed_results import Point
from services.jobs.build import build
from services.jobs.plans import BuildPlan
from services.server.process import server_process
from services.threads import pin_threads

__all__ = ["ROWS"]

STORE = os.environ.get("EGOTOOLS_BENCH_STORE", "")
"""The store that is served; empty: the shipped catalogue, built for each row."""
_SECONDS, _WARM_S, _CONNECTIONS, _CALLERS, _K = 8.0, 1.0, 8, 16, 10


def _store(folder: Path) -> Path:
    if STORE:
        return Path(STORE)
    build(BuildPlan(addresses=(str(ENTERPRISE / "catalog"),), store=folder / "store"), no_progress)
    return folder / "store"


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _encode_for(seconds: float, done: Any) -> None:
    """Encode requests one after the other, and put the number of them into the queue ``done``."""
    encoder, queries = load_encoder("egotools-minilm-int8.v1"), mixed(bench_queries())
    encoder.encode(queries[:5])
    count, stop = 0, time.monotonic() + seconds
    while time.monotonic() < stop:
        encoder.encode([queries[count % len(queries)]])
        count += 1
    done.put(count)


def encoder_throughput(seconds: float = _SECONDS) -> float:
    """Requests a second that the bare encoder encodes with one process for each processor."""
    pin_threads()
    context = multiprocessing.get_context("spawn")
    done = context.Queue()
    workers = [context.Process(target=_encode_for, args=(seconds, done)) for _ in range(_cores())]
    for worker in workers:
        worker.start()
    counts = [done.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    return float(sum(counts)) / seconds


@contextlib.asynccontextmanager
async def _asking(addresses: Sequence[str]) -> AsyncIterator[Ask]:
    """Asks the servers in turn, each over several connections."""
    own = [("grpc.use_local_subchannel_pool", 1)]
    async with contextlib.AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(AsyncClient(address, options=own))
            for _ in range(_CONNECTIONS)
            for address in addresses
        ]
        turn = iter(range(10**9))

        async def ask(query: str) -> Mapping[str, float]:
            client = clients[next(turn) % len(clients)]
            return (await client.retrieve(query, k=_K, explain=False)).timings_ms

        yield ask


def _served(store: Path, loads: Sequence[float], *, servers: int, callers: int = _CALLERS) -> list[Point]:
    """The closed loop, and open loops at shares of its throughput."""

    async def measure(addresses: Sequence[str]) -> list[Point]:
        queries = mixed(bench_queries())
        async with _asking(addresses) as ask:
            calls = await closed_loop(ask, queries, callers=callers, seconds=_WARM_S + _SECONDS)
            points = [measured_point(calls, warm_s=_WARM_S, seconds=_SECONDS, loop="closed", callers=callers)]
            for load in loads:
                rate = load * points[0].answered_per_s
                schedule = poisson_schedule(rate, _WARM_S + _SECONDS, queries, seed=f"0:{load}")
                calls = await open_loop(ask, schedule)
                points.append(measured_point(calls, warm_s=_WARM_S, seconds=_SECONDS, loop="open", load=load))
        return points

    with contextlib.ExitStack() as stack:
        ready = [stack.enter_context(server_process(store, EGOTOOLS_RECENT_VECTORS="0")) for _ in range(servers)]
        return asyncio.run(measure([each["address"] for each in ready]))


def throughput(folder: Path) -> Figure:
    """Peak throughput against the bare encoder's."""
    peak = _served(_store(folder), (), servers=_cores())[0].answered_per_s
    bare = encoder_throughput()
    return Figure(text=f"{peak / bare:.2f} ({peak:.0f} against {bare:.0f} a second)", held=peak / bare >= 0.6)


def latency(folder: Path) -> Figure:
    """The median at low load against retrieval in process."""
    store, queries = _store(folder), mixed(bench_queries())
    pin_threads()
    retriever = open_engine(store).retriever("")
    spent = []
    for query in [*queries[:10], *queries]:
        started = time.perf_counter()
        retriever.retrieve(Request(query=query, k=_K))
        spent.append((time.perf_counter() - started) * 1e3)
    alone = statistics.median(spent[10:])
    served = _served(store, (), servers=1, callers=1)[0].p50_ms or float("inf")
    return Figure(text=f"{served / alone:.2f} ({served:.1f} against {alone:.1f} ms)", held=served / alone <= 1.25)


def tail(folder: Path) -> Figure:
    """The 99th percentile against the median at 70 % of the peak."""
    point = _served(_store(folder), (0.7,), servers=_cores())[1]
    p50, p99 = point.p50_ms or 0.0, point.p99_ms or float("inf")
    return Figure(text=f"{p99 / p50:.1f} ({p50:.0f} and {p99:.0f} ms)", held=p99 <= 4 * p50)


def goodput(folder: Path) -> Figure:
    """Answers at 150 % of the peak against the peak."""
    closed, over = _served(_store(folder), (1.5,), servers=_cores())
    share = over.answered_per_s / closed.answered_per_s
    refused = ", ".join(f"{count} {code}" for code, count in over.refused.items()) or "none"
    return Figure(text=f"{share:.2f} of the peak; refused: {refused}", held=share >= 0.9)


ROWS = (
    Row(
        key="throughput",
        item="One server for each processor: together they answer as fast as the encoder alone encodes",
        bar="≥ 0.6 (aim 0.8) of the bare encoder on the same processors",
        measure=throughput,
        fast=False,
    ),
    Row(
        key="low-load",
        item="A call costs little more than retrieval in process",
        bar="median ≤ 1.25 × in process, one caller",
        measure=latency,
        fast=False,
    ),
    Row(
        key="tail",
        item="At 70 % load no call waits long",
        bar="99th percentile ≤ 4 × median",
        measure=tail,
        fast=False,
    ),
    Row(
        key="goodput",
        item="Overload does not lower the number of answers",
        bar="at 150 % of the peak ≥ 0.9 of the peak",
        measure=goodput,
        fast=False,
    ),
)
