"""Streamable HTTP: revisions of the protocol, sessions, tokens, hosts, floods, and clients that go away."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

from egotools import AsyncClient
from planners.calls.tool_access import ToolAccess
from services.jobs.plans import HttpPlace
from services.mcp.gateway_server import McpGateway, serve_mcp_http
from services.mcp.mcp_caller import current_token
from tests.harness.waiting import until
from tests.services.mcp.conftest import ACCESS, ERAS, Guarded, User, text_of

HANDSHAKE = {
    "protocolVersion": LATEST_HANDSHAKE_VERSION,
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}
WITHOUT_HANDSHAKE = {
    "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class Served:
    """A running MCP server over HTTP."""

    def __init__(self, url: str, gateway: McpGateway) -> None:
        self.url = url
        self.gateway = gateway

    async def post(self, body: object, headers: dict[str, str] | None = None) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with httpx.AsyncClient(timeout=60.0) as client:
            return await client.post(self.url, content=content, headers={**HEADERS, **(headers or {})})

    async def opened(
        self, revision: str = LATEST_HANDSHAKE_VERSION, **headers: str
    ) -> tuple[dict[str, str], dict[str, Any]]:
        """Do the handshake; return the headers of further requests, and what the server said."""
        answer = await self.post(message("initialize", {**HANDSHAKE, "protocolVersion": revision}), headers)
        assert answer.status_code == 200, answer.text
        said = result_of(answer)
        further = {**headers, "mcp-session-id": answer.headers["mcp-session-id"]}
        accepted = await self.post(message("notifications/initialized", {}, id_=None), further)
        assert accepted.status_code == 202
        return {**further, "mcp-protocol-version": said["protocolVersion"]}, said


def message(method: str, params: dict[str, Any], id_: int | None = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, **({"id": id_} if id_ is not None else {})}


def call(name: str, **arguments: object) -> dict[str, Any]:
    return message("tools/call", {"name": name, "arguments": arguments})


def result_of(answer: httpx.Response) -> dict[str, Any]:
    if answer.headers["content-type"].startswith("text/event-stream"):
        data = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
        found: dict[str, Any] = json.loads(data[-1])
    else:
        found = answer.json()
    result: dict[str, Any] = found.get("result") or found["error"]
    return result


@asynccontextmanager
async def serving(address: str, access: ToolAccess = ACCESS, where: HttpPlace | None = None) -> AsyncIterator[Served]:
    async with AsyncClient(address, token=current_token) as client:
        gateway = McpGateway(client, access)
        async with serve_mcp_http(gateway, client, where or HttpPlace(port=0)) as url:
            yield Served(url, gateway)


@asynccontextmanager
async def connected_to(url: str, era: str, token: str = "", user: User | None = None) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with create_mcp_http_client(headers=headers) as http:
        answer = user.answer if user is not None else None
        async with Client(
            streamable_http_client(url, http_client=http), mode=era, elicitation_callback=answer
        ) as client:
            yield client


@pytest.mark.parametrize("revision", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_every_revision_is_spoken_in_raw_messages(served: str, revision: str) -> None:
    async with serving(served) as server:
        headers, said = await server.opened(revision)
        assert said["protocolVersion"] == revision
        listed = result_of(await server.post(message("tools/list", {}), headers))
        assert [tool["name"] for tool in listed["tools"]][:1] == ["search_tools"]
        found = result_of(await server.post(call("search_tools", query="count the stock of steel"), headers))
        assert not found["isError"]
        assert "warehouse/count_stock" in found["content"][0]["text"]


async def test_an_unknown_revision_is_answered_with_a_known_one_and_one_without_handshake_is_served(
    served: str,
) -> None:
    async with serving(served) as server:
        assert (await server.opened("1999-01-01"))[1]["protocolVersion"] == LATEST_HANDSHAKE_VERSION
        headers = {"mcp-protocol-version": LATEST_MODERN_VERSION, "mcp-method": "tools/list"}
        listed = await server.post(message("tools/list", {"_meta": WITHOUT_HANDSHAKE}), headers)
        assert len(result_of(listed)["tools"]) == 4
        unknown = await server.post(message("tools/list", {}), {"mcp-protocol-version": "2099-01-01"})
        assert unknown.status_code == 400


@pytest.mark.parametrize("era", ERAS)
async def test_each_token_sees_its_own_tools_and_none_is_refused(guarded: Guarded, era: str) -> None:
    address, tokens = guarded.address, guarded.tokens
    async with serving(address) as server:
        for name, sees in (("anna", True), ("boris", False)):
            async with connected_to(server.url, era, tokens[name]) as client:
                found = await client.call_tool("search_tools", {"query": "count the stock of steel", "k": 50})
                assert ("warehouse/count_stock" in text_of(found)) is sees
                called = await client.call_tool("get_tool", {"id": "warehouse__count_stock"})
                assert called.is_error is not sees
        body = message("initialize", {})
        assert (await server.post(body)).status_code == 401
        assert (await server.post(body)).headers["www-authenticate"] == "Bearer"
        assert (await server.post(body, {"authorization": "Bearer wrong"})).status_code == 401
        assert (await server.post(body, {"authorization": f"Bearer {tokens['nobody']}"})).status_code == 403
        assert (await server.post(body, {"authorization": "Bearer a\tb"})).status_code == 400


async def test_another_users_session_is_one_that_is_not_there(guarded: Guarded) -> None:
    address, tokens = guarded.address, guarded.tokens
    async with serving(address) as server:
        annas, _ = await server.opened(authorization=f"Bearer {tokens['anna']}")
        boriss = {**annas, "authorization": f"Bearer {tokens['boris']}"}
        listing = message("tools/list", {})
        assert (await server.post(listing, annas)).status_code == 200
        assert (await server.post(listing, boriss)).status_code == 404
        async with httpx.AsyncClient() as client:
            assert (await client.delete(server.url, headers=boriss)).status_code == 404
        assert (await server.post(listing, annas)).status_code == 200
        assert (await server.post(listing, {**annas, "mcp-session-id": "0" * 32})).status_code == 404


async def test_pages_of_other_sites_and_other_host_names_are_refused(served: str) -> None:
    async with serving(served) as server:
        body = message("initialize", {})
        assert (await server.post(body, {"host": "rebound.example:8090"})).status_code == 421
        assert (await server.post(body, {"origin": "https://evil.example"})).status_code == 403
        assert (await server.post(body, {"content-type": "text/plain"})).status_code == 400


async def test_floods_are_bounded_and_leave_others_as_they_are(served: str) -> None:
    async with serving(served) as server:
        headers, _ = await server.opened()
        assert (await server.post(b"x" * 2**21)).status_code == 413
        assert (await server.post(b"{" * 10_000)).status_code == 400
        for _ in range(63):
            await server.opened()
        assert (await server.post(message("initialize", {}))).status_code == 429
        assert (await server.post(message("tools/list", {}), headers)).status_code == 200
        async with httpx.AsyncClient() as client:
            assert (await client.delete(server.url, headers=headers)).status_code == 200
        await until(lambda: sum(server.gateway.sessions.of_caller.values()) == 63)
        await server.opened()


@pytest.mark.parametrize("ends", ["the session", "the stream"])
async def test_a_client_that_goes_away_leaves_no_call_behind(
    served: str, access: ToolAccess, waiting: Path, ends: str
) -> None:
    async with serving(served, replace(access, timeout_s=600.0)) as server:
        headers, _ = await server.opened()
        if ends == "the stream":  # of a request without a session
            body = message("tools/call", {"name": "warehouse__wait_for_truck", "_meta": WITHOUT_HANDSHAKE})
            names = {"mcp-protocol-version": LATEST_MODERN_VERSION, "mcp-method": "tools/call"}
            task = asyncio.create_task(server.post(body, {**names, "mcp-name": "warehouse__wait_for_truck"}))
            await until(waiting.exists)
            task.cancel()
        else:
            task = asyncio.create_task(server.post(call("warehouse__wait_for_truck"), headers))
            await until(waiting.exists)
            task.cancel()  # of the older revisions this is no cancellation: the call ends with its session
            async with httpx.AsyncClient() as client:
                await client.delete(server.url, headers=headers)
        await until(lambda: not waiting.exists())  # in the source's own process
        await asyncio.gather(task, return_exceptions=True)
