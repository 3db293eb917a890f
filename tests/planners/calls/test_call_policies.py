"""Consent, retries, limits and dry runs, over servers on loopback."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import Any

import pytest

from egotools import OverloadedError, PermissionDeniedError, Tool, UnavailableError
from egotools.calling.http_invoker import HttpInvoker
from egotools.calling.tool_answer import ToolAnswer
from inference.retry import RetryPolicy
from planners.calls.python_invoker import PythonInvoker
from planners.calls.tool_access import CallLimits, CallPipeline, always, never
from tests.harness.http_server import Arrived, Loopback, Reply
from tests.planners.calls import shop_tools
from tests.planners.calls.tools import MODULE, NOTHING, http, python

READ, WRITE, REPLACE = http("orders", NOTHING, "GET"), http("orders"), http("order", NOTHING, "PUT")
ORDER = {"material": "steel"}
QUICK = RetryPolicy(max_retries=3, base_delay_s=0.001, max_delay_s=0.002, max_retry_after_s=2.0)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


class TestConsent:
    async def test_reads_are_never_asked_about(self) -> None:
        with Loopback() as server:
            assert (await CallPipeline(HttpInvoker(servers={"": server.url}), never).invoke(READ, {})).ok
            assert len(server.arrived) == 1

    async def test_a_write_that_nobody_confirms_is_not_sent(self) -> None:
        with Loopback() as server:
            with pytest.raises(PermissionDeniedError, match="nothing was sent") as caught:
                await CallPipeline(HttpInvoker(servers={"": server.url}), never).invoke(WRITE, ORDER)
            assert (caught.value.subject, server.arrived) == ("shop/orders", [])

    async def test_a_write_in_the_clothes_of_a_read_is_not_sent(self) -> None:
        override = {"type": "object", "properties": {"X-HTTP-Method-Override": {"type": "string"}}}
        with Loopback() as server:
            invoker = CallPipeline(HttpInvoker(servers={"": server.url}), never)
            for tool, arguments in (
                (http("orders", override, "GET"), {"X-HTTP-Method-Override": "DELETE"}),
                (http("purgeOrders", NOTHING, "GET"), {}),
            ):
                with pytest.raises(PermissionDeniedError):
                    await invoker.invoke(tool, arguments)
            assert server.arrived == []

    async def test_a_confirmed_write_is_not_sent_on_to_another_host(self) -> None:
        with Loopback() as other, Loopback(lambda _: Reply(status=307, headers={"Location": other.url})) as server:
            answer = await CallPipeline(HttpInvoker(servers={"": server.url}), always).invoke(WRITE, ORDER)
            assert (answer.ok, len(server.arrived), other.arrived) == (False, 1, [])

    async def test_whoever_is_asked_sees_the_call_and_one_question_at_a_time(self) -> None:
        asked: list[tuple[str, Mapping[str, Any]]] = []
        open_questions = 0

        async def ask(tool: Tool, arguments: Mapping[str, Any]) -> bool:
            nonlocal open_questions
            open_questions += 1
            assert open_questions == 1
            await asyncio.sleep(0)
            asked.append((tool.id, arguments))
            open_questions -= 1
            return bool(arguments["material"] != "gold")

        invoker = CallPipeline(PythonInvoker([MODULE]), ask)
        calls = [invoker.invoke(python("book"), {"material": each}) for each in ("steel", "gold", "tin")]
        steel, gold, tin = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(gold, PermissionDeniedError)
        assert isinstance(steel, ToolAnswer) and isinstance(tin, ToolAnswer)
        assert sorted(arguments["material"] for _, arguments in asked) == ["gold", "steel", "tin"]


def failing(times: int, **reply: Any) -> Callable[[Arrived], Reply]:
    left = [Reply(**reply)] * times
    return lambda arrived: left.pop() if left else Reply()


class TestRetries:
    @pytest.mark.parametrize("status", [429, 503])
    @pytest.mark.parametrize("tool", [READ, REPLACE])
    async def test_what_is_safe_is_called_again(self, tool: Tool, status: int) -> None:
        with Loopback(failing(2, status=status)) as server:
            answer = await CallPipeline(HttpInvoker(servers={"": server.url}), retries=QUICK).invoke(tool, {})
            assert (answer.ok, len(server.arrived)) == (True, 3)

    @pytest.mark.parametrize("status", [429, 503])
    async def test_a_write_is_sent_once(self, status: int) -> None:
        with Loopback(failing(2, status=status)) as server:
            answer = await CallPipeline(HttpInvoker(servers={"": server.url}), retries=QUICK).invoke(WRITE, ORDER)
            assert (answer.ok, len(server.arrived)) == (False, 1)

    @pytest.mark.parametrize("status", [400, 404, 500])
    async def test_other_errors_are_answers(self, status: int) -> None:
        with Loopback(failing(2, status=status)) as server:
            answer = await CallPipeline(HttpInvoker(servers={"": server.url}), retries=QUICK).invoke(READ, {})
            assert (answer.status[:3], len(server.arrived)) == (str(status), 1)

    @pytest.mark.parametrize("as_date", [False, True])
    async def test_too_long_a_wait_ends_the_call_with_its_answer(self, as_date: bool) -> None:
        header = formatdate(time.time() + 600, usegmt=True) if as_date else "90"
        with Loopback(failing(1, status=503, headers={"Retry-After": header})) as server:
            answer = await CallPipeline(HttpInvoker(servers={"": server.url}), retries=QUICK).invoke(READ, {})
            assert (answer.retry_after, len(server.arrived)) == (header, 1)

    @pytest.mark.parametrize(("tool", "attempts"), [(READ, 4), (WRITE, 1)])
    async def test_a_connection_that_breaks_off(self, tool: Tool, attempts: int) -> None:
        connections = []
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(0.05)
            over = threading.Event()

            def break_off() -> None:
                while not over.is_set():
                    try:
                        connection, _ = listener.accept()
                    except TimeoutError:
                        continue
                    connections.append(connection.recv(65_536))
                    connection.close()

            thread = threading.Thread(target=break_off)
            thread.start()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            arguments = ORDER if tool is WRITE else {}
            with pytest.raises(UnavailableError):
                await CallPipeline(HttpInvoker(servers={"": url}), retries=QUICK).invoke(tool, arguments)
            over.set()
            thread.join()
        assert len(connections) == attempts


class TestLimits:
    async def test_calls(self) -> None:
        invoker = CallPipeline(PythonInvoker([MODULE]), limits=CallLimits(calls=2))
        for _ in range(2):
            await invoker.invoke(python("book"), ORDER)
        with pytest.raises(OverloadedError, match="limit of 2 calls"):
            await invoker.invoke(python("book"), ORDER)
        assert invoker.calls == 2

    async def test_bytes(self) -> None:
        invoker = CallPipeline(PythonInvoker([MODULE]), limits=CallLimits(answer_bytes=1_000_000))
        await invoker.invoke(python("flood", NOTHING), {})
        with pytest.raises(OverloadedError, match="1,000,000 bytes"):
            await invoker.invoke(python("book"), ORDER)
        assert invoker.answer_bytes > 2_000_000

    async def test_seconds(self) -> None:
        shop_tools.RELEASE.clear()
        try:
            invoker = CallPipeline(PythonInvoker([MODULE]), limits=CallLimits(seconds=0.2))
            for tool, arguments in ((python("wait", NOTHING), {}), (python("book"), ORDER)):
                with pytest.raises(OverloadedError, match=r"0\.2 seconds"):
                    await invoker.invoke(tool, arguments)
            assert invoker.calls == 1
        finally:
            shop_tools.RELEASE.set()
