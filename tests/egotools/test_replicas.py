"""Both clients against replicas that refuse, cancel, hang or lie."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import AsyncExitStack, contextmanager
from typing import Any

import grpc
import pytest

from egotools import (
    AsyncClient,
    InternalServerError,
    OverloadedError,
    UnavailableError,
)
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from tests.egotools.asking import KINDS, client_of
from tests.harness.engines import serving, small_settings
from tests.harness.waiting import LIMIT_S, bounded_work, until

Answer = Callable[[int, Any], pb.RetrieveResponse]


class Scripted(pb_grpc.ToolRetrievalServicer):
    """Answers call number 0, 1, … with what ``answer`` makes of it."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.calls = 0
        self.attempts: list[str] = []

    def Retrieve(self, request: pb.RetrieveRequest, context: Any) -> pb.RetrieveResponse:
        self.attempts.append(dict(context.invocation_metadata()).get("grpc-previous-rpc-attempts", "0"))
        self.calls += 1
        return self.answer(self.calls - 1, context)

    def RetrieveBatch(self, request: Any, context: Any) -> pb.RetrieveBatchResponse:
        return pb.RetrieveBatchResponse(results=[pb.RetrieveResult(response=self.Retrieve(request, context))])

    def _nothing(self, request: Any, context: Any) -> Any:
        raise NotImplementedError

    GetTool = Neighbors = GetCatalog = Plan = ReportOutcome = _nothing


@contextmanager
def scripted(answer: Answer) -> Iterator[tuple[Scripted, str]]:
    servicer = Scripted(answer)
    server = grpc.server(futures.ThreadPoolExecutor(8))
    pb_grpc.add_ToolRetrievalServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield servicer, f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


def first_fails(code: grpc.StatusCode, failures: int, *trailing: tuple[str, str]) -> Answer:
    def answer(number: int, context: Any) -> pb.RetrieveResponse:
        if number < failures:
            context.set_trailing_metadata(trailing)
            context.abort(code, "not now")
        return pb.RetrieveResponse(snapshot_id="after all")

    return answer


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_a_refusal_is_retried_when_the_server_says(kind: str) -> None:
    hint = ("grpc-retry-pushback-ms", "10")
    with scripted(first_fails(grpc.StatusCode.RESOURCE_EXHAUSTED, 3, hint)) as (servicer, address):
        async with client_of(kind, address) as ask:
            assert (await ask("retrieve", "customer")).snapshot_id == "after all"
    assert servicer.attempts == ["0", "1", "2", "3"]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_too_large_is_not_retried(kind: str) -> None:
    async with (
        serving(None, small_settings(max_message_bytes=20_000)) as server,
        client_of(kind, server.address) as ask,
    ):
        with pytest.raises(OverloadedError) as caught:
            await ask("retrieve", "customer " * 2_500)
        assert (caught.value.reason, caught.value.subject) == ("TOO_LARGE", "request")
        assert server.calls.begun == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("failures", "answered"), [(3, True), (4, False)])
async def test_a_call_that_the_server_cancelled_is_retried(kind: str, failures: int, answered: bool) -> None:
    with scripted(first_fails(grpc.StatusCode.CANCELLED, failures)) as (servicer, address):
        async with client_of(kind, address) as ask:
            if answered:
                assert (await ask("retrieve", "customer")).snapshot_id == "after all"
            else:
                with pytest.raises(UnavailableError) as caught:
                    await ask("retrieve", "customer")
                assert caught.value.reason == "CANCELLED_BY_SERVER"
    assert servicer.calls == 4


async def test_a_call_that_the_caller_cancels_is_not_retried() -> None:
    held = threading.Event()

    def answer(number: int, context: Any) -> pb.RetrieveResponse:
        held.wait(LIMIT_S)
        return pb.RetrieveResponse()

    with scripted(answer) as (servicer, address):
        async with AsyncClient(address) as client:
            call = asyncio.ensure_future(client.retrieve("customer"))
            await until(lambda: servicer.calls == 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        held.set()
    assert servicer.calls == 1


# -- answers that no honest server sends -------------------------------------------------------------------------------


def million_reasons(number: int, context: Any) -> pb.RetrieveResponse:
    response = pb.RetrieveResponse(tools=[pb.RankedTool()])
    response.tools[0].reasons.MergeFromString(b"\x0a\x00" * 1_000_000)
    return response


@pytest.mark.parametrize("kind", KINDS)
async def test_a_million_empty_parts_are_refused_cheaply(kind: str) -> None:
    with scripted(million_reasons) as (_, address), bounded_work():
        async with client_of(kind, address) as ask:
            with pytest.raises(InternalServerError) as caught:
                await ask("retrieve", "customer")
            assert caught.value.reason == "WRONG_ANSWER"
            with pytest.raises(InternalServerError):
                await ask("retrieve_batch", ["customer"])


async def test_restarting_replicas_one_after_the_other_costs_no_call() -> None:
    async with AsyncExitStack() as all_:
        starting = [serving(None, small_settings(workers=4, queue=64)) for _ in range(2)]
        stacks = [await all_.enter_async_context(AsyncExitStack()) for _ in starting]
        servers = [await stack.enter_async_context(one) for stack, one in zip(stacks, starting, strict=True)]
        answered, done = 0, asyncio.Event()
        client = await all_.enter_async_context(AsyncClient("ipv4:" + ",".join(each.address for each in servers)))

        async def busy() -> None:
            nonlocal answered
            while not done.is_set():
                await client.retrieve("customer", timeout_s=LIMIT_S)
                answered += 1

        callers = [asyncio.ensure_future(busy()) for _ in range(8)]
        for stack, server in zip(stacks, servers, strict=True):
            before, port = answered, int(server.address.rpartition(":")[2])
            await until(lambda before=before: answered > before + 20)  # type: ignore[misc]
            await stack.aclose()
            await stack.enter_async_context(serving(None, small_settings(port=port, workers=4, queue=64)))
        await until(lambda: answered > 100)
        done.set()
        await asyncio.gather(*callers)
