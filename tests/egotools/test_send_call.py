"""Sending: HTTP with a deadline and a limit, AWS through botocore, MCP over stdio and HTTP; all on loopback."""

import base64
import json
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from egotools import (
    Argument,
    Call,
    McpCall,
    MissingPackageError,
    Security,
    SecurityScheme,
    Tool,
    ToolRequestError,
    UnavailableError,
    build_request,
)
from egotools.calling.aws_invoker import AwsInvoker
from egotools.calling.http_call import ToolHttpRequest
from egotools.calling.http_invoker import send_http
from egotools.calling.invoker import ToolAnswer
from egotools.calling.mcp_session import McpSession
from ingest.sources import read_catalog
from tests.egotools.guarded_mcp import guarded_mcp
from tests.harness.http_server import Arrived, Loopback, Reply
from tests.harness.waiting import LIMIT_S, wait_until

SECRET = "s3cr3tkey"


def get(url: str) -> ToolHttpRequest:
    key = SecurityScheme(key="k", type="apiKey", location="query", name="key")
    call = Call(protocol="http", method="GET", path="/x", security=(Security(schemes=(key,)),))
    request = build_request(call, {}, server=url, credentials={"k": SECRET})
    assert isinstance(request, ToolHttpRequest)
    return request


class TestHttp:
    async def test_no_redirect_is_followed(self) -> None:
        with Loopback() as other:
            moved = Reply(status=302, body=b"", headers={"Location": f"{other.url}/y"})
            with Loopback(lambda arrived: moved) as server:
                answer = await send_http(get(server.url))
        assert not answer.ok
        assert answer.status == "302 Found (redirects are not followed)"
        assert other.arrived == []


class SapService:
    """Refuses a change without the token of a session, as SAP's gateway does; it gives tokens at its root."""

    def __init__(self, gives: str) -> None:
        self.gives = gives

    def __call__(self, arrived: Arrived) -> Reply:
        if arrived.headers.get("authorization") != "Basic VTpQ":
            return Reply(status=401)
        if arrived.path == "/sap/ORDERS/":
            given = arrived.method == self.gives and arrived.headers.get("x-csrf-token") == "fetch"
            cookie = {"x-csrf-token": "T1", "Set-Cookie": "SAP_SESSION=s1; path=/; HttpOnly"}
            return Reply(headers=cookie) if given else Reply(status=405)
        cookies = arrived.headers.get("cookie", "").split("; ")
        if (arrived.headers.get("x-csrf-token"), "SAP_SESSION=s1" in cookies) != ("T1", True):
            return Reply(status=403, headers={"x-csrf-token": "Required"})
        return Reply(status=204, body=b"")


def change(server: str, *, protocol: str = "odata", method: str = "PATCH") -> ToolHttpRequest:
    basic = SecurityScheme(key="b", type="http", scheme="basic")
    key = SecurityScheme(key="c", type="apiKey", location="cookie", name="route")
    call = Call(protocol=protocol, service="v2", method=method, path="/A_Order({Order})", media_type="application/json",
                arguments=(Argument(name="Order", location="path", style="Edm.String"), Argument(name="Note", location="body")),
                security=(Security(schemes=(basic, key)),))  # fmt: skip
    arguments = {"Order": "7", **({"Note": "n"} if method == "PATCH" else {})}
    request = build_request(call, arguments, server=f"{server}/sap/ORDERS", credentials={"b": ("U", "P"), "c": "r1"})
    assert isinstance(request, ToolHttpRequest)
    return request


class TestCsrfTokens:
    @pytest.mark.parametrize(("gives", "fetches"), [("HEAD", ["HEAD"]), ("GET", ["HEAD", "GET"])])
    async def test_a_change_is_sent_again_with_a_token_and_its_session(self, gives: str, fetches: list[str]) -> None:
        with Loopback(SapService(gives)) as server:
            answer = await send_http(change(server.url))
        assert answer.status == "204 No Content"
        assert [arrived.method for arrived in server.arrived] == ["PATCH", *fetches, "PATCH"]
        first, last = server.arrived[0], server.arrived[-1]
        assert (first.target, first.body) == (last.target, last.body)
        assert last.body == b'{"Note":"n"}'
        assert "route=r1" in last.headers["cookie"]

    async def test_without_a_token_the_refusal_is_the_answer(self) -> None:
        with Loopback(SapService("never")) as server:
            answer = await send_http(change(server.url))
        assert answer.status == "403 Forbidden"
        assert [arrived.method for arrived in server.arrived] == ["PATCH", "HEAD", "GET"]


@pytest.fixture
def aws() -> Any:
    session_module = pytest.importorskip("botocore.session", reason="the extra aws is not installed")
    session = session_module.Session()
    session.set_credentials("AKIDEXAMPLE", SECRET)
    session.set_config_variable("region", "eu-test-1")
    return session


QUEUES = Tool(
    id="sqs/ListQueues",
    name="ListQueues",
    title="",
    description="",
    namespace="sqs",
    call=Call(
        protocol="aws",
        service="sqs",
        operation="ListQueues",
        arguments=(Argument(name="QueueNamePrefix"), Argument(name="MaxResults")),
    ),
)


class TestAws:
    async def test_an_operation(self, aws: Any) -> None:
        def answer(arrived: Arrived) -> Reply:
            return Reply(body=json.dumps({"QueueUrls": [json.loads(arrived.body)["QueueNamePrefix"]]}).encode())

        with Loopback(answer) as server:
            invoker = AwsInvoker(endpoint_url=server.url, session=aws)
            found = await invoker.invoke(QUEUES, {"QueueNamePrefix": "eu-", "MaxResults": None})
        assert found == ToolAnswer(ok=True, status="200", body={"QueueUrls": ["eu-"]})
        assert server.only.headers["x-amz-target"] == "AmazonSQS.ListQueues"
        assert server.only.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
        assert SECRET not in json.dumps(server.only.headers)

    async def test_an_error_of_the_service_is_an_answer_and_nothing_is_tried_again(self, aws: Any) -> None:
        broken = Reply(status=500, body=b'{"__type": "com.amazonaws.sqs#InternalError", "message": "broken"}')
        with Loopback(lambda arrived: broken) as server:
            found = await AwsInvoker(endpoint_url=server.url, session=aws).invoke(QUEUES, {})
        assert not found.ok
        assert found.status.startswith("500")
        assert len(server.arrived) == 1

    async def test_bytes_arrive_as_they_are_meant(self, aws: Any) -> None:
        """A blob is base64 in the JSON of arguments; the service gets the bytes, not the text encoded once more."""
        (tool,) = [tool for tool in read_catalog(["aws:kinesis"]).tools if tool.name == "PutRecord"]
        assert tool.call is not None
        known = Tool(id=tool.id, name=tool.name, title="", description="", namespace="kinesis", call=tool.call)
        arguments = {"Data": base64.b64encode(b"\0\1\2\3").decode(), "PartitionKey": "k", "StreamName": "s"}
        with Loopback() as server:
            await AwsInvoker(endpoint_url=server.url, session=aws, timeout_s=LIMIT_S).invoke(known, arguments)
        assert base64.b64decode(json.loads(server.only.body)["Data"]) == b"\0\1\2\3"


# It writes much to its error channel, and leaves a process behind that would live on.
NOISY = """
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from mcp.server.mcpserver import MCPServer

child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
Path(sys.argv[1]).write_text(str(child.pid))
for _ in range(1_000):
    sys.stderr.write("noise " * 1_000 + "\\n")
server = MCPServer("warehouse")


@server.tool()
def book(material: str) -> str:
    return f"{material} for {os.environ.get('BUYER')}"


server.run()
"""


async def booked(session: str, arguments: dict[str, Any], **options: Any) -> ToolAnswer:
    opened = McpSession(session, **options)
    try:
        return await opened.call(McpCall(session="", tool="book", arguments=arguments), timeout_s=LIMIT_S)
    finally:
        await opened.close()


def _runs(pid: int) -> bool:
    """Whether a process is there and no zombie, which only waits for its parent to read its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(find_spec("mcp") is None, reason="the extra mcp is not installed")
class TestMcp:
    async def test_a_server_that_demands_a_token(self, tmp_path: Path) -> None:
        with guarded_mcp(tmp_path, SECRET) as session:
            with pytest.raises(UnavailableError) as caught:
                await booked(session, {"material": "steel"})
            headers = {"Authorization": f"Bearer {SECRET}"}
            answer = await booked(session, {"material": "steel"}, headers=headers)
        assert "401" in str(caught.value)
        assert answer.body["content"][0]["text"] == "steel booked"

    async def test_no_process_of_a_server_is_left(self, tmp_path: Path) -> None:
        script, note = tmp_path / "noisy.py", tmp_path / "child.txt"
        script.write_text(NOISY, encoding="utf-8")
        session = "mcp:" + shlex.join([sys.executable, str(script), str(note)])
        answer = await booked(session, {"material": "steel"}, env={"BUYER": "Jan"})
        assert answer.body["content"][0]["text"] == "steel for Jan"
        child = int(note.read_text(encoding="utf-8"))
        wait_until(lambda: not _runs(child))

    @pytest.mark.parametrize(
        ("session", "error", "said"),
        [
            ("mcp:", ToolRequestError, "no address"),
            ("mcp:'half", ToolRequestError, "no address"),
            ("warehouse", ToolRequestError, "no address"),
            ("mcp:no-such-command-anywhere", UnavailableError, "no such command"),
            ("mcp+http://127.0.0.1:9/mcp", UnavailableError, "cannot be reached"),
        ],
    )
    async def test_a_session_that_is_not_there(self, session: str, error: type[Exception], said: str) -> None:
        with pytest.raises(error, match=said):
            await booked(session, {})


async def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mcp", "botocore", "botocore.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackageError, match="pip install mcp"):
        await booked("mcp:x", {})
    with pytest.raises(MissingPackageError, match="pip install botocore"):
        await AwsInvoker().invoke(QUEUES, {})
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "egotools.calling.http_call")
    with pytest.raises(MissingPackageError, match="pip install httpx"):
        build_request(Call(protocol="http", method="GET", path="/x"), {}, server="http://h.test")
