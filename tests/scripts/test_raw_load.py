"""The cheap client of the rows ``overload`` and ``noisy-neighbour``: what it counts is what the server did."""

from __future__ import annotations

import asyncio
import threading

from egotools.v1 import egotools_pb2 as pb
from retrieval.query.request import Request
from scripts.reliability.raw_load import closed_loop, open_loop
from tests.harness.waiting import LIMIT_S, until
from tests.services.server.memory_engine import MemoryEngine, serving, small_settings

RETRIEVE = "/egotools.v1.ToolRetrieval/Retrieve"
ORDER = pb.RetrieveRequest(query="order paper").SerializeToString()


async def test_answers_and_errors_are_told_apart() -> None:
    asked: list[str] = []
    async with serving(MemoryEngine(hook=lambda request: asked.append(request.query))) as server:
        warm = len(asked)
        load = await closed_loop(server.address, ORDER, 2, 0.3, RETRIEVE)
        assert len(load.answered) == len(asked) - warm > 0
        assert (load.refused, load.reset) == ([], 0)
        load = await open_loop(server.address, b"\xff\xff no message", 50, 0.2, RETRIEVE)
        assert (load.answered, load.reset) == ([], 0)
        assert len(load.refused) == 10


async def test_a_full_server_refuses_and_the_others_are_timed_from_when_they_were_due() -> None:
    held = threading.Event()
    engine = MemoryEngine()
    async with serving(engine, small_settings(workers=1, queue=2)) as server:

        def hold(request: Request) -> None:
            held.wait(LIMIT_S)

        engine.hook = hold
        asking = asyncio.ensure_future(open_loop(server.address, ORDER, 50, 0.2, RETRIEVE))
        await until(lambda: server.calls.begun == 10)
        held.set()
        load = await asking
    assert (len(load.answered), load.reset) == (3, 0)  # one that ran, two that waited
    assert len(load.refused) == 7
    assert max(load.refused) < max(load.answered)


async def test_no_connection_has_more_calls_than_the_server_takes() -> None:
    async with serving(MemoryEngine(), small_settings(max_streams=1, queue=64)) as server:
        load = await closed_loop(server.address, ORDER, 40, 0.3, RETRIEVE)
    assert load.answered and not load.reset
