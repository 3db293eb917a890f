"""Rows on access: TLS and its rotation, what a caller that sees a part of a catalogue can find, and how long a miss takes."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import numpy as np

from egotools import AsyncClient, ClientError
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from inference import HashingEncoder
from retrieval.engine import SnapshotEngine, open_engine
from scripts.reliability.row import Figure, Row
from services.jobs.build import build_snapshot
from services.server.server import Server
from services.server.settings import ServerSettings
from tests.harness.issuers import AUDIENCE, ISSUER, Authority, Issuer, key_set, write_pair, write_policy

__all__ = ["ROWS", "foreign_tools", "refusals_and_rotations", "times_of_misses"]

_CATALOG = Path(__file__).resolve().parents[2] / "examples" / "enterprise" / "catalog"
_TOOL = "procurement/searchSuppliers"
_TIMEOUT_S = 60.0


@asynccontextmanager
async def _serving(engine: SnapshotEngine, **changed: Any) -> AsyncIterator[Server]:
    server = Server(replace(ServerSettings(port=0, drain_s=0.0, queue=1_000), **changed))
    await server.start()
    try:
        await server.load(lambda: engine)
        yield server
    finally:
        await server.stop(0)


def _engine(folder: Path, *names: str) -> SnapshotEngine:
    build_snapshot(
        [str(_CATALOG / name) for name in names] or [str(_CATALOG)], folder / "store", encoder=HashingEncoder()
    )
    return open_engine(folder / "store")


async def _fresh_call(target: str, credentials: grpc.ChannelCredentials | None) -> None:
    """One call over a connection of its own."""
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
    channel = (
        grpc.aio.insecure_channel(target, options=options)
        if credentials is None
        else grpc.aio.secure_channel(target, credentials, options=options)
    )
    async with channel:
        await pb_grpc.ToolRetrievalStub(channel).GetTool(pb.GetToolRequest(id=_TOOL), timeout=_TIMEOUT_S)


async def refusals_and_rotations(folder: Path, *, tries: int, rotations: int) -> Figure:
    """Clients that must be refused, then rotations of the certificate under calls on new and on old connections."""
    folder.mkdir(exist_ok=True)
    authority, stranger = Authority(), Authority("another authority")
    ca = folder / "ca.pem"
    ca.write_bytes(authority.pem + stranger.pem)
    certificate, key = write_pair(folder, authority.issue("server"))
    settings = {"tls_cert": certificate, "tls_key": key, "tls_client_ca": ca, "require_client_cert": True}
    own, expired, unknown = authority.issue("agent"), authority.issue("agent", days=-1), Authority("x").issue("agent")
    trusted = authority.pem + stranger.pem

    def credentials(roots: bytes, pair: tuple[bytes, bytes] | None) -> grpc.ChannelCredentials:
        given = {} if pair is None else {"private_key": pair[1], "certificate_chain": pair[0]}
        return grpc.ssl_channel_credentials(roots, **given)

    async with _serving(_engine(folder, "procurement.yaml"), **settings) as server:
        refused: Counter[str] = Counter()
        wrong = {
            "plaintext": None,
            "wrong authority": credentials(Authority("y").pem, own),
            "no client certificate": credentials(trusted, None),
            "expired": credentials(trusted, expired),
            "unknown client": credentials(trusted, unknown),
        }
        for name, given in wrong.items():
            for _ in range(tries):
                try:
                    await _fresh_call(server.address, given)
                except grpc.aio.AioRpcError as error:
                    refused[name] += error.code() == grpc.StatusCode.UNAVAILABLE
        calls, failed = await _calls_while(
            server.address, credentials(trusted, own), lambda: _rotate(folder, (authority, stranger), rotations)
        )
        await _fresh_call(
            server.address, credentials((authority, stranger)[rotations % 2].pem, own)
        )  # the last one serves
    held = all(refused[name] == tries for name in wrong) and not failed and calls > 10 * rotations
    text = f"{sum(refused.values())} of {tries * len(wrong)} refused; {rotations} rotations: {failed} of {calls:,} calls failed"
    return Figure(text=text, held=held)


async def _rotate(folder: Path, authorities: Sequence[Authority], rotations: int) -> None:
    for turn in range(1, rotations + 1):
        write_pair(folder, authorities[turn % 2].issue("server"))
        await asyncio.sleep(1.1)  # the server looks once in a second


async def _calls_while(target: str, credentials: grpc.ChannelCredentials, work: Callable[[], Any]) -> tuple[int, int]:
    """Calls and failed calls during some work: two callers with a new connection for each call, two with one for all."""
    counts: Counter[bool] = Counter()
    ending = False

    async def call_for_ever(fresh: bool) -> None:
        async with AsyncClient(target, tls=credentials) as client:
            while not ending:
                try:
                    await (_fresh_call(target, credentials) if fresh else client.get_tool(_TOOL, timeout_s=_TIMEOUT_S))
                    counts[True] += 1
                except (grpc.aio.AioRpcError, ClientError):
                    counts[False] += 1

    calling = [asyncio.ensure_future(call_for_ever(fresh)) for fresh in (True, True, False, False)]
    await work()
    ending = True
    await asyncio.gather(*calling)
    return counts.total(), counts[False]


@dataclass(frozen=True, slots=True)
class _Tenant:
    token: str
    seen: frozenset[str]


async def foreign_tools(folder: Path, *, queries: int, tenants: int) -> Figure:
    """Random queries of callers who each see other tools: none gets a tool that it may not see, and all get k."""
    chance = random.Random(14)
    engine = _engine(folder)
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
    callers = []
    for number in range(tenants):
        seen = frozenset(chance.sample(ids, chance.randint(10, 60)))
        callers.append(_Tenant(issuer.token(sub=f"tenant {number}", tools=sorted(seen), lasts_s=7_200), seen))
    foreign = short = 0

    async def ask(stub: Any, number: int) -> None:
        nonlocal foreign, short
        caller, own = chance.choice(callers), random.Random(number)
        metadata = (("authorization", f"Bearer {caller.token}"),)
        k = own.randint(1, 10)
        query = " ".join(["list", *own.choices(words, k=own.randint(1, 15))])
        message = pb.RetrieveRequest(query=query, k=k, explain=True, preset=own.choice(("", "", "paper")))
        reply = await stub.Retrieve(message, metadata=metadata, timeout=_TIMEOUT_S)
        graph = await stub.Neighbors(
            pb.NeighborsRequest(node=own.choice(sorted(caller.seen)), limit=1_000),
            metadata=metadata,
            timeout=_TIMEOUT_S,
        )
        content = reply.SerializeToString() + graph.SerializeToString()
        hidden = (name for name in names if name.decode() not in caller.seen)
        # An id that is the beginning of a visible one is in that.
        foreign += sum(name in content and not _is_part(name.decode(), caller.seen) for name in hidden)
        short += len(reply.tools) != k and message.preset == ""

    async with _serving(engine, **settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        stub = pb_grpc.ToolRetrievalStub(channel)
        for start in range(0, queries, 16):
            await asyncio.gather(*(ask(stub, number) for number in range(start, min(start + 16, queries))))
    text = (
        f"{foreign} foreign tools and {short} short answers in {queries:,} queries and as many ego graphs of {tenants} "
        f"callers over {len(ids)} tools"
    )
    return Figure(text=text, held=not foreign and not short)


def _is_part(name: str, seen: frozenset[str]) -> bool:
    return any(name in other for other in seen)


async def times_of_misses(folder: Path, *, pairs: int) -> Figure:
    """Whether the time of an answer tells a hidden tool from an absent one: the chance that it is slower, of all pairs."""
    engine = _engine(folder, "procurement.yaml", "purchasing.edmx")
    issuer = Issuer()
    (folder / "keys.json").write_text(key_set(issuer), encoding="utf-8")
    rule = {"match": {"claims": {"sub": "*"}}, "roles": ["read"], "filters": {"namespace": ["procurement"]}}
    settings = {
        "access_policy": write_policy(folder / "policy.yaml", rule),
        "jwks": str(folder / "keys.json"),
        "jwt_issuer": ISSUER,
        "jwt_audience": AUDIENCE,
    }
    metadata = (("authorization", f"Bearer {issuer.token(lasts_s=7_200)}"),)
    hidden = [each for each in engine.tool_ids(0, 10_000) if each.startswith("purchasing/")]
    found: dict[str, float] = {}
    async with _serving(engine, **settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        stub: Any = pb_grpc.ToolRetrievalStub(channel)
        kinds: dict[str, Callable[[str], Any]] = {
            "GetTool": lambda name: stub.GetTool(pb.GetToolRequest(id=name), metadata=metadata),
            "Neighbors": lambda name: stub.Neighbors(pb.NeighborsRequest(node=name), metadata=metadata),
            "filters": lambda name: stub.Retrieve(
                pb.RetrieveRequest(query="list the orders", filters={"id": pb.StringList(values=[name])}),
                metadata=metadata,
            ),
            "done": lambda name: stub.Retrieve(
                pb.RetrieveRequest(query="list the orders", done=[name]), metadata=metadata
            ),
        }
        for kind, call in kinds.items():
            found[kind] = await _chance_of_slower(call, hidden, pairs)
    held = all(abs(chance - 0.5) <= 0.04 for chance in found.values())
    told = ", ".join(f"{kind} {chance:.3f}" for kind, chance in found.items())
    return Figure(text=f"{told} ({pairs:,} pairs each)", held=held)


async def _chance_of_slower(call: Callable[[str], Any], hidden: Sequence[str], pairs: int) -> float:
    """The area under the ROC curve of the times: 0.5 where they tell nothing."""
    chance = random.Random(7)
    times: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(pairs):
        name = chance.choice(hidden)
        absent = name[:-1] + chance.choice("?#~")
        asked = [(True, name), (False, absent)]
        chance.shuffle(asked)
        for is_hidden, each in asked:
            started = time.perf_counter()
            try:
                await call(each)
            except grpc.aio.AioRpcError:
                pass
            times[is_hidden].append(time.perf_counter() - started)
    ranks = np.argsort(np.argsort(np.asarray([*times[True], *times[False]])))
    return float((ranks[:pairs].sum() - pairs * (pairs - 1) / 2) / pairs**2)


ROWS = (
    Row(
        key="tls",
        item="TLS: plaintext, wrong authority, expired, no client certificate; the certificate rotated under calls",
        bar="all refused; 0 failed calls",
        measure=lambda folder: asyncio.run(refusals_and_rotations(folder, tries=20, rotations=15)),
    ),
    Row(
        key="tenants",
        item="random queries of callers who each see other tools, with explanations and ego graphs",
        bar="0 foreign tools in 10,000 queries of 50 callers; still k tools",
        measure=lambda folder: asyncio.run(foreign_tools(folder, queries=10_000, tenants=50)),
        fast=False,
    ),
    Row(
        key="hidden-timing",
        item="the chance that an answer about a hidden tool is slower than one about an absent tool",
        bar="0.50 ± 0.04 for every way to ask",
        measure=lambda folder: asyncio.run(times_of_misses(folder, pairs=2_000)),
        fast=False,
    ),
)
