"""A server that is asked for more than it can do: overload, noisy neighbours, deadlines, cancelled calls."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import grpc
import numpy as np

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from inference import DEFAULT_ENCODER, load_encoder
from retrieval.engine import open_engine
from retrieval.query.request import Request
from scripts.reliability.raw_load import closed_loop, open_loop
from scripts.reliability.replica import replicas, row_store
from scripts.reliability.row import Figure, Row
from services.server.server import Server
from services.server.settings import ServerSettings
from tests.harness.other_peer import other_peer

__all__ = ["ROWS"]

_QUERY = "overdue invoices of a supplier"
_METHOD = "/egotools.v1.ToolRetrieval/Retrieve"
_MESSAGE = pb.RetrieveRequest(query=_QUERY, k=10).SerializeToString()
_OWN = (("grpc.use_local_subchannel_pool", 1), ("grpc.service_config", "{}"))  # no retries: what the server says counts
_CHANNELS = 4
_DEADLINE_S, _SLOW_S = 0.05, 0.5
_QUIET_PER_S = 5.0
_RUN_OR_WAIT = 18  # as many as run and wait: the admitted wait as long as they may


@dataclass(frozen=True, slots=True)
class _Met:
    """How a call ended."""

    code: grpc.StatusCode
    seconds: float


Stub: TypeAlias = "pb_grpc.ToolRetrievalAsyncStub"


async def _ask(stub: Stub, k: int = 10, timeout_s: float = 20.0, metadata: tuple[tuple[str, str], ...] = ()) -> _Met:
    started = time.monotonic()
    code = grpc.StatusCode.OK
    try:
        await stub.Retrieve(pb.RetrieveRequest(query=_QUERY, k=k), timeout=timeout_s, metadata=metadata)
    except grpc.aio.AioRpcError as error:
        code = error.code()
    return _Met(code, time.monotonic() - started)


@asynccontextmanager
async def _stubs(address: str, count: int = _CHANNELS) -> AsyncIterator[list[Stub]]:
    async with AsyncExitStack() as stack:
        channels = [
            await stack.enter_async_context(grpc.aio.insecure_channel(address, options=_OWN)) for _ in range(count)
        ]
        yield [pb_grpc.ToolRetrievalStub(channel) for channel in channels]


async def _open_loop(stubs: Sequence[Stub], rate_per_s: float, seconds: float) -> list[_Met]:
    """Ask at a fixed rate, whether or not earlier calls were answered."""
    started = time.monotonic()
    calls: list[asyncio.Future[_Met]] = []
    while (passed := time.monotonic() - started) < seconds:
        while len(calls) < passed * rate_per_s:
            calls.append(asyncio.ensure_future(_ask(stubs[len(calls) % len(stubs)])))
        await asyncio.sleep(0.005)
    return list(await asyncio.gather(*calls))


def _answered(met: Sequence[_Met]) -> list[_Met]:
    return [each for each in met if each.code is grpc.StatusCode.OK]


def _percentile_ms(met: Sequence[_Met], share: float) -> float:
    return _at_ms([each.seconds for each in met], share)


def _at_ms(seconds: Sequence[float], share: float) -> float:
    return float(np.percentile(seconds, share)) * 1e3 if seconds else 0.0


def _row(measure: Callable[[Path], Awaitable[Figure]]) -> Callable[[Path], Figure]:
    return lambda folder: asyncio.run(measure(folder))  # type: ignore[arg-type]


# -- row 16 ------------------------------------------------------------------------------------------------------------


async def _overload(folder: Path, seconds: float) -> Figure:
    """The load comes from a cheap client; a client of gRPC asks a few times a second, and says which codes refusals have."""
    async with replicas(folder, 1, QUEUE="16") as (server,), _stubs(server.address, 1) as stubs:
        raw = (server.address, _MESSAGE)
        await closed_loop(*raw, 4, 2.0, _METHOD)
        unloaded = await closed_loop(*raw, 1, 3.0, _METHOD)
        full = await closed_loop(*raw, _RUN_OR_WAIT, seconds / 4, _METHOD)
        peak = len(full.answered) / (seconds / 4)
        met, sampled = await asyncio.gather(
            open_loop(*raw, 4 * peak, seconds, _METHOD), _open_loop(stubs, _QUIET_PER_S, seconds)
        )
        after = await closed_loop(*raw, _RUN_OR_WAIT, seconds / 4, _METHOD)
    peak = max(peak, len(after.answered) / (seconds / 4))  # other programs of the machine take more at one time
    share = len(met.answered) / seconds / peak
    codes = Counter(each.code.name for each in sampled)
    others = met.reset + len(sampled) - codes["OK"] - codes["RESOURCE_EXHAUSTED"]
    last_ms, grown = _at_ms(met.refused, 100), _at_ms(met.answered, 99) / max(1.0, _at_ms(unloaded.answered, 99))
    text = (
        f"goodput {share:.0%} of the peak of {peak:.0f}/s; {len(met.refused):,} of {4 * peak * seconds:,.0f} refused, half within"
        f" {_at_ms(met.refused, 50):.0f} ms, 99 % within {_at_ms(met.refused, 99):.0f} ms and all within {last_ms:.0f} ms; p99 of the admitted"
        f" {_at_ms(met.answered, 99):.0f} ms = {_at_ms(met.answered, 99) / max(1.0, _at_ms(full.answered, 99)):.1f} × that with a full queue and no"
        f" overload, and {grown:.1f} × that of one caller alone; {met.reset} streams reset; codes of a sample {dict(codes)}"
    )
    return Figure(text=text, held=share >= 0.9 and last_ms <= 50 and grown <= 2 and not others)


# -- row 17 ------------------------------------------------------------------------------------------------------------


async def _noisy(folder: Path, seconds: float) -> Figure:
    """A quiet peer beside one that asks at its share of the peak, and at ten times its share.

    The load of the noisy one comes from another process: in this one the quiet peer would wait for it before any server does.
    """
    async with (
        replicas(folder, 1) as (server,),
        other_peer(server.address) as elsewhere,
        _stubs(server.address, 1) as noisy,
        _stubs(elsewhere, 1) as quiet,
    ):
        raw = (server.address, _MESSAGE)
        peak = len((await closed_loop(*raw, 4, seconds / 4, _METHOD)).answered) / (seconds / 4)
        share = peak / 2
        rate = min(_QUIET_PER_S, share)
        alone = await _open_loop(quiet, rate, seconds)
        beside: list[list[_Met]] = []
        for factor in (1, 10):
            load, own, sampled = await asyncio.gather(
                open_loop(*raw, factor * share, seconds, _METHOD),
                _open_loop(quiet, rate, seconds),
                _open_loop(noisy, rate, seconds),
            )
            beside.append(own)
    codes = Counter(each.code.name for each in sampled)
    refused = sum(len(own) - len(_answered(own)) for own in beside)
    quiet_ms, before, after = (_percentile_ms(own, 99) for own in (alone, *beside))
    grown = after / max(1.0, quiet_ms)
    text = (
        f"p99 of the quiet peer {quiet_ms:.0f} ms alone, {before:.0f} ms beside a neighbour at its share ({share:.0f}/s), {after:.0f} ms"
        f" ({after / max(1.0, before):.1f} ×, and {grown:.1f} × alone) beside one at ten times that; {refused} of {sum(map(len, beside))} of its"
        f" calls refused; the neighbour: {len(load.answered):,} answered, {len(load.refused):,} refused, {load.reset:,} reset; codes of a"
        f" sample of its calls {dict(codes)}"
    )
    return Figure(text=text, held=refused == 0 and grown <= 1.5 and codes["RESOURCE_EXHAUSTED"] > 0)


# -- rows 14 and 15 ----------------------------------------------------------------------------------------------------


class _SlowStage:
    """An engine whose requests stay in one stage for a while; what comes after it is counted."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.seconds = 0.0
        self.later = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def retriever(self, preset: str = "") -> Any:
        inner, slow = self._engine.retriever(preset), self

        class Slow:
            def retrieve(self, request: Request) -> Any:
                if slow.seconds:
                    time.sleep(slow.seconds)
                    request.check("slowed")
                    slow.later += 1
                return inner.retrieve(request)

        return Slow()


@asynccontextmanager
async def _slow_server(folder: Path) -> AsyncIterator[tuple[Server, _SlowStage]]:
    engine = _SlowStage(open_engine(await asyncio.to_thread(row_store, folder)))
    loaded: Any = engine
    server = Server(ServerSettings(port=0, workers=2, queue=64))
    await server.start()
    try:
        await server.load(lambda: loaded)
        yield server, engine
    finally:
        await server.stop(0)


class _SlowEncoder:
    """The encoder of an engine, slowed; it tells how often it was asked."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode(self, texts: Sequence[str]) -> Any:
        time.sleep(self.seconds)
        return self._encoder.encode(texts)


async def _deadlines(folder: Path, count: int) -> Figure:
    """The stage ``encode`` of the engine itself is slow; the next stage that begins after the deadline counts."""
    store = await asyncio.to_thread(row_store, folder)
    encoder = _SlowEncoder(load_encoder(DEFAULT_ENCODER))
    engine = open_engine(store, encoder=encoder)
    later = 0
    allowed = engine.snapshot.allowed

    def counted(filters: Any) -> Any:  # what the stage after ``encode`` does first
        nonlocal later
        later += encoder.seconds > 0
        return allowed(filters)

    engine.snapshot.allowed = counted  # type: ignore[method-assign]
    server = Server(ServerSettings(port=0, workers=2, queue=64))
    await server.start()
    try:
        await server.load(lambda: engine)
        async with _stubs(server.address, 1) as (stub,):
            await _ask(stub)
            encoder.seconds = _SLOW_S
            met = []
            for _ in range(count):
                met.append(await _ask(stub, timeout_s=_DEADLINE_S))
                await _until(lambda: server.limiter.admitted == 0)  # each one comes to its slow stage
    finally:
        await server.stop(0)
    exceeded = sum(each.code is grpc.StatusCode.DEADLINE_EXCEEDED and each.seconds <= 0.08 for each in met)
    slowest = max(each.seconds for each in met) * 1e3
    text = f"{exceeded} of {count} DEADLINE_EXCEEDED within 80 ms, p99 {_percentile_ms(met, 99):.0f} ms, slowest {slowest:.0f} ms; {later} later stages ran"
    return Figure(text=text, held=exceeded == count and not later)


async def _cancelled(folder: Path, count: int) -> Figure:
    async with _slow_server(folder) as (server, engine), _stubs(server.address) as stubs:
        await asyncio.gather(*(_ask(stub) for stub in stubs))
        threads = threading.active_count()
        engine.seconds = 0.01
        for begun in range(0, count, 50):
            calls = [stubs[n % len(stubs)].Retrieve(pb.RetrieveRequest(query=_QUERY)) for n in range(50)]
            await asyncio.sleep(0.002 * (begun % 5))
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        started = time.monotonic()
        await _until(lambda: server.limiter.admitted == 0)
        freed_ms = (time.monotonic() - started) * 1e3
        await _until(lambda: server.admission.calls.open == 0 and server.admission.bytes.held == 0)
        engine.seconds = 0.0
        answered = len(_answered([await _ask(stubs[0])]))
        leaked = threading.active_count() - threads
    text = f"{count:,} cancelled: all workers free {freed_ms:.0f} ms after the last; no call and no byte left, {leaked} threads more"
    return Figure(text=text, held=freed_ms <= 100 and leaked <= 0 and answered == 1)


async def _until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not reached():
            await asyncio.sleep(0.001)


ROWS = [
    Row(
        key="overload",
        item="Open loop at four times the peak for 60 s",
        bar="goodput ≥ 90 % of the peak, every refusal RESOURCE_EXHAUSTED within 50 ms, p99 of the admitted ≤ 2 × that of the unloaded",
        measure=_row(partial(_overload, seconds=60.0)),
        fast=False,
    ),
    Row(
        key="noisy-neighbour",
        item="A peer at ten times its share of the server beside a quiet one",
        bar="p99 of the quiet one ≤ 1.5 × without the noise, none of its calls refused; the noisy one gets RESOURCE_EXHAUSTED",
        measure=_row(partial(_noisy, seconds=20.0)),
        fast=False,
    ),
    Row(
        key="deadline",
        item="Deadline of 50 ms, a stage slowed to 500 ms",
        bar="DEADLINE_EXCEEDED within 80 ms, no later stage runs, 100 of 100",
        measure=_row(partial(_deadlines, count=100)),
        fast=False,
    ),
    Row(
        key="cancelled",
        item="10,000 cancelled calls",
        bar="all places free within 100 ms, no thread and no byte left",
        measure=_row(partial(_cancelled, count=10_000)),
    ),
]
