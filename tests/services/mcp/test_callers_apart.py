"""Callers over HTTP: what one of them found, began or was allowed is not another's, and does not last for ever."""

import asyncio
import re

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from services.server.access.tokens import revoke_token
from tests.harness.waiting import LIMIT_S
from tests.services.mcp.conftest import ERAS, Guarded, User, text_of
from tests.services.mcp.test_http_server import HANDSHAKE, connected_to, message, serving

MODERN = ERAS[1]
FOUND = "warehouse__count_stock"


async def process_of(client: Client) -> int:
    """The process of the warehouse that answers a client."""
    counted = await client.call_tool(FOUND, {"material": "steel"})
    match = re.search(r'"process": (\d+)', text_of(counted))
    assert match is not None, text_of(counted)
    return int(match[1])


async def test_clients_without_a_token_share_nothing_though_they_have_one_address(served: str) -> None:
    """The newest revision has no sessions, and the address is all that is known of them."""
    async with (
        serving(served) as server,
        connected_to(server.url, MODERN) as first,
        connected_to(server.url, MODERN) as second,
    ):
        assert await process_of(first) != await process_of(second)


async def test_requests_of_a_token_share_a_session(guarded: Guarded) -> None:
    token = guarded.tokens["anna"]
    async with serving(guarded.address) as server:
        async with connected_to(server.url, MODERN, token) as one, connected_to(server.url, MODERN, token) as other:
            assert await process_of(one) == await process_of(other)


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


async def test_a_revoked_token_is_refused_soon(guarded: Guarded) -> None:
    headers = {"authorization": f"Bearer {guarded.tokens['carla']}"}
    async with serving(guarded.address) as server, asyncio.timeout(LIMIT_S):
        begun = await server.post(message("initialize", HANDSHAKE), headers)
        revoke_token(guarded.tokens_file, "carla")
        further = {**headers, "mcp-session-id": begun.headers["mcp-session-id"]}
        while (refused := await server.post(message("tools/list", {}), further)).status_code == 200:
            await asyncio.sleep(0.05)  # until the gRPC server reads its file again
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
