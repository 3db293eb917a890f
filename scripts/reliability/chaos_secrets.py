"""Row ``secrets``: texts of requests and secrets are planted into calls; nothing that the server tells has one of them."""

from __future__ import annotations

import asyncio
import io
import logging
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from inference import HashingEncoder
from retrieval.engine import SnapshotEngine, open_engine
from retrieval.query.request import Request
from retrieval.retriever import Retriever
from scripts.reliability.row import Figure, Row
from services.jobs.build import build_snapshot
from services.server.logs import JsonFormatter
from services.server.server import Server
from services.server.settings import ServerSettings

__all__ = ["ROWS", "leaks"]

DOCUMENT = Path(__file__).parents[2] / "examples" / "enterprise" / "catalog" / "procurement.yaml"
WORDS = ("Rumpelstiltskin", "Zwergnase", "schneewittchen-4711", "金太郎")
"""Words of requests: they may come back to the caller in an answer, and nowhere else."""
SECRETS = (
    "sk-plantedKEY0123456789",
    "ghp_plantedTOKEN0123456789",
    "AKIAPLANTED012345678",
    "eyJplantedHEADER.eyJplantedPAYLOAD.plantedSIGNATURE",
    "https://user:plantedPASSWORD@host.example/?key=plantedQUERY",
    "Bearer plantedBEARER0123456789",
    "API_TOKEN=plantedVARIABLE0123456789",
)
"""Secrets of known shapes: they may be nowhere, not even in the error that says what is wrong with a request."""
NEEDLES: tuple[str, ...] = (
    *WORDS,
    "plantedKEY",
    "plantedTOKEN",
    "PLANTED0123",
    "plantedPAYLOAD",
    "plantedPASSWORD",
    "plantedQUERY",
)
NEEDLES += ("plantedBEARER", "plantedVARIABLE")


class _Failing(SnapshotEngine):
    """Fails for some requests with an error that quotes them, as a bug would."""

    def retriever(self, preset: str = "") -> Retriever:
        """The retriever of the snapshot, with a bug."""
        return _Buggy(super().retriever(preset))


class _Buggy:
    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever
        self.name = retriever.name

    def retrieve(self, request: Request) -> Any:
        if "bug" in request.query:
            raise RuntimeError(f"cannot retrieve {request.query!r}")
        return self.retriever.retrieve(request)


def leaks(folder: Path, calls: int, *, seed: int = 26) -> dict[str, list[str]]:
    """Make calls with planted texts, and return what was found: place → needles.

    :param calls: number of calls.
    """
    build_snapshot([str(DOCUMENT)], folder / "store", encoder=HashingEncoder())
    audit = folder / "audit.jsonl"
    with _logged() as log:
        settings = ServerSettings(port=0, metrics_port=0, audit_log=audit, drain_s=0.0)
        metrics, errors = asyncio.run(_calls(folder / "store", settings, calls, random.Random(seed)))
    told = {
        "logs": log.getvalue(),
        "metrics": metrics,
        "audit log": audit.read_text(encoding="utf-8"),
        "error details": "\n".join(errors),
    }
    _check_told(told, calls)
    return {place: [needle for needle in NEEDLES if needle in text] for place, text in told.items()}


def _check_told(told: Mapping[str, str], calls: int) -> None:
    """Check that there is something to find: a channel that tells nothing proves nothing."""
    if told["logs"].count('"message": "call"') < calls or "egotools_requests_total" not in told["metrics"]:
        raise RuntimeError("the calls are not in the log or not in the metrics")
    if not told["audit log"] or not told["error details"]:
        raise RuntimeError("nothing was audited, or nothing failed")


async def _calls(store: Path, settings: ServerSettings, calls: int, chosen: random.Random) -> tuple[str, list[str]]:
    server = Server(settings)
    address = await server.start()
    errors: list[str] = []
    try:
        await server.load(lambda: _failing(store))
        async with grpc.aio.insecure_channel(address) as channel:
            stub = pb_grpc.ToolRetrievalStub(channel)
            kinds = _kinds(stub, chosen)
            for number in range(calls):
                metadata = (
                    ("egotools-tenant", "" if number % 4 else chosen.choice(SECRETS)),
                    ("authorization", chosen.choice(SECRETS)),
                )
                try:
                    answer = await kinds[number % len(kinds)](metadata)
                    errors += [str(result.error) for result in getattr(answer, "results", ())]
                except grpc.aio.AioRpcError as error:
                    errors.append(error.details() or "")
                    errors += [_text(value) for _, value in error.trailing_metadata() or ()]
        for secret in SECRETS:
            server.observing.denied(secret, tenant=secret, code="PERMISSION_DENIED", reason="DENIED")
            server.observing.trail.note("swap", actor=secret, tenant=secret, subject=secret)
        metrics = server.observing.metrics.scrape().decode()
    finally:
        await server.stop(0)
    return metrics, errors


def _failing(store: Path) -> SnapshotEngine:
    engine = open_engine(store)
    return _Failing(engine.snapshot, engine.encoder)


def _kinds(stub: pb_grpc.ToolRetrievalAsyncStub, chosen: random.Random) -> list[Callable[[Any], Any]]:
    """Calls with texts in every field: those that are answered, those that are refused, and those that meet a bug."""

    def query(more: str = "") -> str:
        return f"find the supplier {chosen.choice(WORDS)} with {chosen.choice(SECRETS)} {more}"

    def ask(**fields: Any) -> Callable[[Any], Any]:
        return lambda metadata: stub.Retrieve(pb.RetrieveRequest(query=query(), **_called(fields)), metadata=metadata)

    def secret() -> str:
        return chosen.choice(SECRETS)

    return [
        ask(),
        ask(explain=True),
        ask(k=0),
        ask(preset=secret),
        ask(filters=lambda: {secret(): pb.StringList(values=["x"])}),
        ask(filters=lambda: {"namespace": pb.StringList(values=[secret()])}),
        ask(filters=lambda: {"namespace": pb.StringList(values=[])}),
        ask(done=lambda: [secret(), chosen.choice(WORDS)]),
        ask(have=lambda: {"supplier": f"{chosen.choice(WORDS)} {secret()}"}),
        ask(have=lambda: {"": chosen.choice(WORDS)}),
        lambda metadata: stub.Retrieve(pb.RetrieveRequest(query=query("bug")), metadata=metadata),
        lambda metadata: stub.Retrieve(pb.RetrieveRequest(query=query() * 1_000), metadata=metadata),
        lambda metadata: stub.RetrieveBatch(
            pb.RetrieveBatchRequest(
                requests=[pb.RetrieveRequest(query=query(each)) for each in ("", "bug", "x" * 30_000)]
            ),
            metadata=metadata,
        ),
        lambda metadata: stub.RetrieveBatch(
            pb.RetrieveBatchRequest(requests=[pb.RetrieveRequest(query=query())] * 65), metadata=metadata
        ),
        lambda metadata: stub.GetTool(pb.GetToolRequest(id=secret()), metadata=metadata),
        lambda metadata: stub.Neighbors(pb.NeighborsRequest(node=secret()), metadata=metadata),
        lambda metadata: stub.GetCatalog(pb.GetCatalogRequest(page_size=5, page_token=secret()), metadata=metadata),
    ]


def _called(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value() if callable(value) else value for name, value in fields.items()}


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


@contextmanager
def _logged() -> Iterator[io.StringIO]:
    """What the process logs at INFO, as the server writes it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield stream
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def _measure(folder: Path) -> Figure:
    calls = 1_700
    found = leaks(folder, calls)
    hits = sum(map(len, found.values()))
    where = ", ".join(f"{place}: {len(needles)}" for place, needles in found.items())
    return Figure(text=f"{hits} hits of {len(NEEDLES)} planted texts in {calls:,} calls ({where})", held=not hits)


ROWS = [
    Row(
        key="secrets",
        item="Texts of requests and secrets are in no log line at INFO, metric, trace, audit entry or error",
        bar="0 hits",
        measure=_measure,
    )
]
