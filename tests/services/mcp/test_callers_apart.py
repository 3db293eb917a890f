"""Callers over HTTP: what one of them found, began or was allowed is not another's, and does not last for ever."""

from __future__ import annotations

import asyncio
import re

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from egotools import AsyncClient, ClientError
from services.mcp import mcp_http_server
from services.server.access.tokens import create_token, revoke_token
from tests.harness.waiting import LIMIT_S
from tests.services.mcp.conftest import ERAS, Guarded, User, text_of
from tests.services.mcp.test_http_server import connected_to, message, serving

MODERN = ERAS[1]
FOUND = "warehouse__count_stock"


async def finds(client: Client) -> bool:
    return not (await client.call_tool("search_tools", {"query": "count the stock of steel"})).is_error


async def is_listed(client: Client) -> bool:
    return FOUND in {tool.name for tool in (await client.list_tools()).tools}


async def process_of(client: Client) -> int:
    """The process of the warehouse that answers a client."""
    counted = await client.call_tool(FOUND, {"material": "steel"})
    match = re.search(r'"process": (\d+)', text_of(counted))
    assert match is not None, text_of(counted)
    return int(match[1])


async def test_clients_without_a_token_share_nothing_though_they_have_one_address(served: str) -> None:
    """The newest revision has no sessions, and the address is all that is known of them."""
    async with (
        serving(served, append_only=True) as server,
        connected_to(server.url, MODERN) as first,
        connected_to(server.url, MODERN) as second,
    ):
        assert await finds(first)
        assert not await is_listed(second)
        assert await process_of(first) != await process_of(second)


async def test_requests_of_a_token_share_a_session_and_those_of_another_have_none_of_it(guarded: Guarded) -> None:
    tokens = guarded.tokens
    async with serving(guarded.address, append_only=True) as server:
        async with connected_to(server.url, MODERN, tokens["anna"]) as anna:
            assert await finds(anna)
        async with (
            connected_to(server.url, MODERN, tokens["anna"]) as again,
            connected_to(server.url, MODERN, tokens["boris"]) as boris,
        ):
            assert await is_listed(again)
            assert not await is_listed(boris)
            assert await process_of(again) == await process_of(again)


async def test_another_callers_token_cannot_use_a_consent(guarded: Guarded) -> None:
    """Boris may call the tool too, and repeats what Anna's client got, with the answer of his own choice."""
    asked = {"id": "office/invite_employee", "arguments": {"employee_id": "e-7", "meeting": "Monday"}}
    answer: types.InputResponses = {"consent": types.ElicitResult(action="accept", content={})}
    tokens = guarded.tokens

    async def repeated(client: Client, state: str | None) -> types.CallToolResult | types.InputRequiredResult:
        return await client.session.call_tool(
            "call_tool", asked, input_responses=answer, request_state=state, allow_input_required=True
        )

    async with (
        serving(guarded.address) as server,
        connected_to(server.url, MODERN, tokens["anna"], User()) as anna,
        connected_to(server.url, MODERN, tokens["boris"], User()) as boris,
    ):
        needed = await anna.session.call_tool("call_tool", asked, allow_input_required=True)
        assert isinstance(needed, types.InputRequiredResult)
        with pytest.raises(MCPError, match="requestState"):
            await repeated(boris, needed.request_state)
        called = await repeated(anna, needed.request_state)  # which his attempt did not use up
        assert isinstance(called, types.CallToolResult)
        assert "is invited" in text_of(called)


async def test_a_revoked_token_is_refused_when_the_verdict_about_it_is_old(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = create_token(guarded.tokens_file, "carla")

    async def is_good(client: AsyncClient) -> bool:
        try:
            await client.catalog(page_size=0)
        except ClientError as error:
            assert error.code == "UNAUTHENTICATED"
            return False
        return True

    async with serving(guarded.address) as server, AsyncClient(guarded.address, token=token) as direct:
        async with asyncio.timeout(LIMIT_S):
            while not await is_good(direct):  # the gRPC server reads its file again
                await asyncio.sleep(0.05)
        headers, _ = await server.opened(authorization=f"Bearer {token}")
        listing = message("tools/list", {})
        assert (await server.post(listing, headers)).status_code == 200
        monkeypatch.setattr(mcp_http_server, "_VERDICT_S", 1e9)
        revoke_token(guarded.tokens_file, "carla")
        async with asyncio.timeout(LIMIT_S):
            while await is_good(direct):
                await asyncio.sleep(0.05)
        assert (await server.post(listing, headers)).status_code == 200  # by the verdict, which is kept
        monkeypatch.setattr(mcp_http_server, "_VERDICT_S", 0.01)
        await asyncio.sleep(0.02)
        refused = await server.post(listing, headers)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        begun = await server.post(message("initialize", {}), {"authorization": f"Bearer {token}"})
        assert begun.status_code == 401
