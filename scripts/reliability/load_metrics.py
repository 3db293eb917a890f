"""Row ``metrics``: what a server counts of 10,000 calls is what its callers saw."""

from __future__ import annotations

import asyncio
import random
import re
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from inference import HashingEncoder
from retrieval.engine import open_engine
from scripts.reliability.row import Figure, Row
from services.jobs.build import build_snapshot
from services.server.server import Server
from services.server.settings import ServerSettings

__all__ = ["ROWS", "Seen", "compare"]

DOCUMENT = Path(__file__).parents[2] / "examples" / "enterprise" / "catalog" / "procurement.yaml"
_REQUESTS = re.compile(r'egotools_requests_total\{code="(\w+)",method="(\w+)",tenant="([^"]*)"\} ([\d.e+]+)')
_SINGLE = re.compile(r"^(\w+(?:\{[^}]*\})?) ([\d.e+]+)$", re.MULTILINE)
_CALLERS = 16


@dataclass
class Seen:
    """What the callers saw.

    :param calls: (code, method, tenant) → number.
    :param answers: answered requests; ``empty`` those without a tool, ``fallbacks`` those that name one.
    :param different: lines of the comparison that differ.
    """

    calls: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    answers: int = 0
    empty: int = 0
    fallbacks: int = 0
    different: list[str] = field(default_factory=list)


def compare(folder: Path, calls: int, *, seed: int = 27) -> Seen:
    """Make calls of every kind from several callers, and compare what they saw with one scrape.

    :param calls: number of calls.
    """
    build_snapshot([str(DOCUMENT)], folder / "store", encoder=HashingEncoder())
    settings = ServerSettings(port=0, metrics_port=0, workers=2, queue=4, drain_s=0.0, log_level="ERROR")
    return asyncio.run(_compare(folder / "store", settings, calls, random.Random(seed)))


async def _compare(store: Path, settings: ServerSettings, calls: int, chosen: random.Random) -> Seen:
    server, seen = Server(settings), Seen()
    address = await server.start()
    try:
        await server.load(lambda: open_engine(store))
        kinds = iter([chosen.choice(_KINDS) for _ in range(calls)])

        async def caller() -> None:
            async with grpc.aio.insecure_channel(address) as channel:
                for kind in kinds:
                    await _call(channel, kind, seen)

        await asyncio.gather(*(caller() for _ in range(_CALLERS)))
        text = await asyncio.to_thread(_scrape, f"http://127.0.0.1:{server.observing.metrics_port}/metrics")
    finally:
        await server.stop(0)
    _differences(seen, text)
    return seen


@dataclass(frozen=True)
class _Kind:
    method: str
    request: Callable[[], Any]
    tenant: str = ""


_KINDS = (
    *[_Kind("Retrieve", lambda: pb.RetrieveRequest(query="block a supplier and pay its invoice", k=5))] * 6,
    _Kind("Retrieve", lambda: pb.RetrieveRequest(query="")),
    _Kind("Retrieve", lambda: pb.RetrieveRequest(query="blockieren Sie den Lieferanten und bezahlen Sie die Rechnung")),
    _Kind("Retrieve", lambda: pb.RetrieveRequest(query="supplier"), tenant="no-such-tenant"),
    _Kind(
        "RetrieveBatch",
        lambda: pb.RetrieveBatchRequest(
            requests=[pb.RetrieveRequest(query=each, k=3) for each in ("order", "", "supplier")]
        ),
    ),
    _Kind("RetrieveBatch", lambda: pb.RetrieveBatchRequest()),
    _Kind("GetTool", lambda: pb.GetToolRequest(id="no/such_tool")),
    _Kind("GetCatalog", lambda: pb.GetCatalogRequest(page_size=5)),
    _Kind("Neighbors", lambda: pb.NeighborsRequest(node="no such node")),
    _Kind("MadeUp", lambda: pb.GetCatalogRequest()),
)


async def _call(channel: grpc.aio.Channel, kind: _Kind, seen: Seen) -> None:
    metadata = (("egotools-tenant", kind.tenant),) if kind.tenant else ()
    stub = pb_grpc.ToolRetrievalStub(channel)
    method: Any = getattr(stub, kind.method, None) or channel.unary_unary(
        f"/egotools.v1.ToolRetrieval/{kind.method}", request_serializer=lambda message: message.SerializeToString()
    )
    try:
        answer = await method(kind.request(), metadata=metadata)
        code = "OK"
    except grpc.aio.AioRpcError as error:
        code, answer = error.code().name, None
    named = kind.method if hasattr(stub, kind.method) else "other"
    seen.calls[code, named, "other" if kind.tenant else ""] += 1
    for response in _responses(answer):
        seen.answers += 1
        seen.empty += not response.tools
        seen.fallbacks += len(response.fallbacks)


def _responses(answer: Any) -> list[pb.RetrieveResponse]:
    if isinstance(answer, pb.RetrieveResponse):
        return [answer]
    return [result.response for result in getattr(answer, "results", ()) if result.HasField("response")]


def _differences(seen: Seen, text: str) -> None:
    counted = {(code, method, tenant): float(value) for code, method, tenant, value in _REQUESTS.findall(text)}
    for key in sorted({*counted, *seen.calls}):
        _same(seen, str(key), seen.calls[key], counted.get(key, 0.0))
    single = {name: float(value) for name, value in _SINGLE.findall(text)}
    _same(seen, "answers", seen.answers, single.get('egotools_answers_total{tenant=""}', 0.0))
    _same(seen, "empty answers", seen.empty, single.get('egotools_empty_answers_total{tenant=""}', 0.0))
    fallbacks = sum(value for name, value in single.items() if name.startswith("egotools_fallbacks_total"))
    _same(seen, "fallbacks", seen.fallbacks, fallbacks)
    for stage in ("queue", "encode", "entry", "rank", "explain", "total"):
        counted_stage = single.get(f'egotools_stage_seconds_count{{stage="{stage}"}}', 0.0)
        _same(seen, f"stage {stage}", seen.answers, counted_stage)
    _same(seen, "in flight", 0, single.get("egotools_in_flight", -1.0))


def _same(seen: Seen, what: str, by_callers: float, by_server: float) -> None:
    if by_callers != by_server:
        seen.different.append(f"{what}: callers {by_callers:g}, server {by_server:g}")


def _scrape(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return str(answer.read().decode())


def _measure(folder: Path) -> Figure:
    calls = 10_000
    seen = compare(folder, calls)
    codes = Counter[str]()
    for (code, _, _), count in seen.calls.items():
        codes[code] += count
    shown = ", ".join(f"{count:,} {code}" for code, count in codes.most_common())
    differ = "; ".join(seen.different[:5]) or "0 counts differ"
    return Figure(text=f"{differ} of {len(seen.calls) + 10} after {calls:,} calls ({shown})", held=not seen.different)


ROWS = [
    Row(
        key="metrics",
        item="Counts of requests by method, code and tenant, of answers and of stages equal those of the callers",
        bar="equal over 10,000 calls",
        measure=_measure,
        fast=False,
    )
]
