"""Every invoker does the same for its caller; each is called with a real function, server or session."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from egotools import Call, ClientDeadlineError, OverloadedError, Tool, ToolRequestError, UnavailableError
from egotools.calling.http_invoker import HttpInvoker
from egotools.calling.invoker import ToolInvoker
from egotools.calling.mcp_invoker import McpAddress, McpInvoker
from planners.calls.tool_access import ProtocolInvoker, PythonInvoker
from tests.conftest import ROOT
from tests.harness.http_server import Arrived, Loopback, Reply
from tests.harness.servers import listening_program
from tests.harness.waiting import LIMIT_S, until
from tests.planners.calls import shop_tools
from tests.planners.calls.tools import MODULE, NOTHING, http, mcp, python, tool

_MCP = """
import asyncio, sys, uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("warehouse")


@server.tool()
def book(material: str, amount: int = 1) -> dict:
    if material == "gold":
        raise ToolError("there is no gold")
    return {"booked": material, "amount": amount}


@server.tool()
async def wait() -> str:
    await asyncio.Event().wait()


@server.tool()
def flood() -> list[str]:
    return ["x" * 1_000] * 2_000


uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""


@dataclass(frozen=True)
class Kind:
    """One way to call the shop's tools."""

    invoker: Callable[..., ToolInvoker]
    tool: Callable[..., Tool]


@pytest.fixture(autouse=True)
def released() -> Iterator[None]:
    shop_tools.RELEASE.clear()
    yield
    shop_tools.RELEASE.set()


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running MCP server, as the address of a session."""
    script = tmp_path_factory.mktemp("mcp") / "warehouse_server.py"
    script.write_text(_MCP, encoding="utf-8")
    with listening_program([sys.executable, str(script)]) as address:
        yield f"mcp+http://{address}/mcp"


def _reply(arrived: Arrived) -> Reply:
    if arrived.path == "/flood":
        return Reply(body=json.dumps(shop_tools.flood()).encode())
    if arrived.path == "/wait":
        return Reply(body=b"x" * 100_000, dribble_s=0.05)
    given: dict[str, Any] = json.loads(arrived.body)
    if given["material"] == "gold":
        return Reply(status=404, body=b'{"error": "there is no gold"}')
    return Reply(body=json.dumps({"booked": given["material"], "amount": given.get("amount", 1)}).encode())


@pytest.fixture(params=["python", "http", "mcp", "by protocol"])
def kind(request: pytest.FixtureRequest) -> Iterator[Kind]:
    def python_invoker(**limits: Any) -> ToolInvoker:
        return PythonInvoker([MODULE], **limits)

    match request.param:
        case "python":
            yield Kind(python_invoker, python)
        case "by protocol":
            yield Kind(lambda **limits: ProtocolInvoker({"python": python_invoker(**limits)}), python)
        case "http":
            with Loopback(_reply) as server:
                yield Kind(lambda **limits: HttpInvoker(servers={"shop": server.url}, **limits), http)
        case _:
            addresses = {"warehouse": McpAddress(session=request.getfixturevalue("warehouse"))}
            yield Kind(lambda **limits: McpInvoker(addresses, **limits), mcp)


class TestEveryInvoker:
    async def test_the_body_is_json_values(self, kind: Kind) -> None:
        answer = await kind.invoker().invoke(kind.tool("book"), {"material": "steel", "amount": 7})
        assert (answer.ok, answer.body) == (True, {"booked": "steel", "amount": 7})
        assert 20 < answer.size < 500

    async def test_what_the_tool_refuses_is_an_answer(self, kind: Kind) -> None:
        answer = await kind.invoker().invoke(kind.tool("book"), {"material": "gold"})
        assert not answer.ok
        assert "no gold" in str(answer.body)

    @pytest.mark.parametrize("arguments", [{}, {"material": 7}, {"material": "steel", "colour": "red"}])
    async def test_wrong_arguments_are_refused_before_the_call(self, kind: Kind, arguments: dict[str, Any]) -> None:
        with pytest.raises(ToolRequestError, match="colour" if "colour" in arguments else "material"):
            await kind.invoker().invoke(kind.tool("book"), arguments)

    async def test_calls_may_overlap(self, kind: Kind) -> None:
        invoker, booking = kind.invoker(), kind.tool("book")
        answers = await asyncio.gather(*(invoker.invoke(booking, {"material": f"m{n}"}) for n in range(20)))
        assert [answer.body["booked"] for answer in answers] == [f"m{n}" for n in range(20)]

    async def test_a_call_that_takes_too_long_is_given_up(self, kind: Kind) -> None:
        with pytest.raises(ClientDeadlineError, match="may have done its work"):
            await kind.invoker(timeout_s=0.5).invoke(kind.tool("wait", NOTHING), {})

    async def test_an_answer_that_is_too_large_is_not_taken(self, kind: Kind) -> None:
        with pytest.raises(OverloadedError, match="10,000 bytes"):
            await kind.invoker(max_bytes=10_000).invoke(kind.tool("flood", NOTHING), {})

    async def test_a_tool_of_another_protocol_is_refused(self, kind: Kind) -> None:
        other = tool(Call(protocol="aws", service="ec2", operation="DescribeInstances"))
        with pytest.raises(ToolRequestError, match="protocol"):
            await kind.invoker().invoke(other, {"material": "x"})


class TestPython:
    @pytest.mark.parametrize(
        ("name", "module", "said"),
        [
            *(
                (name, MODULE, "no such function of its own")
                for name in (
                    *("os.getcwd", "getcwd", "_secret", "Shop._secret", "Shop.book.title.upper"),
                    *("nothing", "RELEASE.set", "book.__globals__"),
                )
            ),
            ("getcwd", "os", "allowed: no.such, tests"),
            ("x", "no.such", "ModuleNotFoundError"),
        ],
    )
    async def test_nothing_but_the_named_modules_own_functions_is_called(
        self, name: str, module: str, said: str
    ) -> None:
        with pytest.raises(ToolRequestError, match=said):
            await PythonInvoker([MODULE, "no.such"]).invoke(python(name, NOTHING, module=module), {})

    async def test_an_object_stands_for_its_module(self) -> None:
        invoker = PythonInvoker([], objects={MODULE: shop_tools.Shop("Ulm")})
        answer = await invoker.invoke(python("book"), {"material": "steel"})
        assert answer.body == {"booked": "steel", "amount": 1, "at": "Ulm"}
        with pytest.raises(ToolRequestError, match="no such function"):
            await invoker.invoke(python("_secret", NOTHING), {})

    @pytest.mark.parametrize(
        ("name", "ok", "body"),
        [
            ("count", True, {"1": [1, 2], "nan": None, "half": 0.5, "three": 3}),
            ("unlike_json", False, "TypeError: a value of the type object is none of JSON"),
            ("stop", False, "RuntimeError: SystemExit: 3"),
        ],
    )
    async def test_what_a_function_returns_or_raises_becomes_json(self, name: str, ok: bool, body: Any) -> None:
        answer = await PythonInvoker([MODULE]).invoke(python(name, NOTHING), {})
        assert answer.ok == ok
        assert answer.body == body or body in str(answer.body)
        assert (await PythonInvoker([MODULE]).invoke(python("later"), {"material": "steel"})).body == "steel"

    async def test_threads_are_bounded_and_come_back(self) -> None:
        invoker, waiting = PythonInvoker([MODULE], timeout_s=0.3), python("wait", NOTHING)
        stuck = await asyncio.gather(*(invoker.invoke(waiting, {}) for _ in range(40)), return_exceptions=True)
        assert all(isinstance(each, ClientDeadlineError) for each in stuck)
        assert sum(thread.name == "tool" for thread in threading.enumerate()) <= 16
        with pytest.raises(ClientDeadlineError):
            await invoker.invoke(python("book"), {"material": "steel"})
        shop_tools.RELEASE.set()
        await until(lambda: not any(thread.name == "tool" for thread in threading.enumerate()))
        assert (await PythonInvoker([MODULE]).invoke(python("book"), {"material": "steel"})).ok

    def test_a_function_that_hangs_does_not_keep_the_process(self) -> None:
        script = (
            "import asyncio\n"
            "from planners.calls.tool_access import PythonInvoker\n"
            "from tests.planners.calls.tools import MODULE, NOTHING, python\n"
            "async def main():\n"
            "    try: await PythonInvoker([MODULE], timeout_s=0.1).invoke(python('wait', NOTHING), {})\n"
            "    except Exception as error: print(type(error).__name__)\n"
            "asyncio.run(main())\n"
        )
        command = [sys.executable, "-c", script]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
        assert ended.stdout == "ClientDeadlineError\n"


_COUNTER = f"""
import json
import os
import sys

sys.path.insert(0, {str(ROOT)!r})
from tests.harness.plain_mcp import serve

visits = 0


def listed(_):
    schema = {{"type": "object", "properties": {{}}}}
    return {{"tools": [{{"name": name, "inputSchema": schema}} for name in ("visit", "leave")]}}


def call(params):
    global visits
    if params["name"] == "leave":
        os._exit(1)
    visits += 1
    answer = {{"process": os.getpid(), "visits": visits}}
    return {{"content": [{{"type": "text", "text": json.dumps(answer)}}], "structuredContent": answer}}


serve("counter", listed, call)
"""


async def test_a_session_is_shared_until_the_block_ends_and_a_server_that_died_is_started_again(tmp_path: Path) -> None:
    script = tmp_path / "counter.py"
    script.write_text(_COUNTER, encoding="utf-8")
    async with McpInvoker({"warehouse": McpAddress(session=f"mcp:{sys.executable} {script}")}) as invoker:
        calls = [invoker.invoke(mcp("visit", NOTHING), {}) for _ in range(6)]
        answers = [answer.body for answer in await asyncio.gather(*calls)]
        with pytest.raises(UnavailableError):
            await invoker.invoke(mcp("leave", NOTHING), {})
        again = (await invoker.invoke(mcp("visit", NOTHING), {})).body
    assert sorted(each["visits"] for each in answers) == [1, 2, 3, 4, 5, 6]
    (process,) = {each["process"] for each in answers}
    assert again["visits"] == 1 and again["process"] != process
    if sys.platform == "linux":
        await until(lambda: not any(Path(f"/proc/{each}").exists() for each in (process, again["process"])))
