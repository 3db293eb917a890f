"""Calls through the gateway to two real MCP servers, a user who is asked, and servers that misbehave."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from egotools.calling.address_guard import parse_networks
from egotools.calling.mcp_invoker import McpAddress
from planners.calls.tool_access import CallPolicy, CallRule, ToolAccess
from services.mcp.mcp_caller import MAX_CALLS
from tests.harness.waiting import until
from tests.services.mcp.conftest import ACCESS, ERAS, SERVERS, User, connected, text_of

BOOK = {"material": "steel", "amount": 3}


async def called(client: Client, tool: str, **arguments: Any) -> types.CallToolResult:
    return await client.call_tool("call_tool", {"id": tool, "arguments": arguments})


@pytest.mark.parametrize("era", ERAS)
async def test_a_user_sees_every_argument_and_decides_about_each_call(
    served: str, era: str, access: ToolAccess
) -> None:
    user = User()
    async with connected(served, era, user, access=access) as client:
        hidden = {"material": "ste\u202eel\x1b[2J", "amount": 3}
        assert '"booked"' in text_of(await called(client, "warehouse/book_material", **hidden))
        user.action = "decline"
        declined = await called(client, "warehouse/book_material", **BOOK)
        assert not (await called(client, "warehouse/count_stock", material="steel")).is_error
    assert declined.is_error
    assert "nothing was sent" in text_of(declined)
    assert len(user.asked) == 2
    assert "warehouse/book_material" in user.asked[0]
    place = access.sessions["warehouse"].session.removeprefix("mcp+").removesuffix("/mcp")
    assert f"Call: tool book_material of the MCP server warehouse, {place}\n" in user.asked[0]
    assert '"amount": 3' in user.asked[0]
    assert "\\u202e" in user.asked[0]
    assert "\u202e" not in user.asked[0]
    assert "\x1b" not in user.asked[0]


@pytest.mark.parametrize(
    ("servers", "place"),
    [({}, "http://127.0.0.1:9"), ({"canteen": f"https://{'x' * 400}.example:8443"}, f"https://{'x' * 292}…")],
)
async def test_a_user_sees_where_a_call_goes(served: str, servers: dict[str, str], place: str) -> None:
    user = User(action="decline")
    policy = CallPolicy(rules=(CallRule(decision="ask"),))
    access = replace(ACCESS, servers=servers, policy=policy, allowed_networks=parse_networks(["127.0.0.0/8"]))
    async with connected(served, "legacy", user, access=access) as client:
        assert (await called(client, "canteen/get_menu", day="Monday")).is_error
    assert f"Call: GET /menu\nServer: {place}\n" in user.asked[0]


async def test_questions_that_nobody_answers_are_bounded(served: str, access: ToolAccess) -> None:
    """A client of the newest revision that never answers; its own sign of a question is in its hands."""
    async with connected(served, ERAS[1], User(), access=access) as client:
        for amount in (0, 0, 0, *range(9)):  # the same call once more is the same question
            asked = {"id": "warehouse/book_material", "arguments": {"material": "steel", "amount": amount}}
            answer = await client.session.call_tool("call_tool", asked, allow_input_required=True)
            assert isinstance(answer, types.InputRequiredResult) is (amount < 8)
        assert isinstance(answer, types.CallToolResult) and "RESOURCE_EXHAUSTED" in text_of(answer)


async def test_a_consent_is_used_once_and_for_these_arguments(served: str, access: ToolAccess) -> None:
    """The answer of a user, replayed by a client of the newest revision."""
    user = User()
    async with connected(served, ERAS[1], user, access=access) as client:
        asked = {"id": "warehouse/book_material", "arguments": BOOK}
        needed = await client.session.call_tool("call_tool", asked, allow_input_required=True)
        assert isinstance(needed, types.InputRequiredResult)
        answer: types.InputResponses = {"consent": types.ElicitResult(action="accept", content={})}

        async def again(arguments: dict[str, Any]) -> types.CallToolResult | types.InputRequiredResult:
            return await client.session.call_tool(
                "call_tool",
                arguments,
                input_responses=answer,
                request_state=needed.request_state,
                allow_input_required=True,
            )

        with pytest.raises(MCPError, match="requestState"):
            await again({**asked, "arguments": {**BOOK, "amount": 4_000}})
        with pytest.raises(MCPError, match="requestState"):
            await client.session.call_tool(
                "call_tool", asked, input_responses=answer, request_state="guessed", allow_input_required=True
            )
        booked = await again(asked)
        assert isinstance(booked, types.CallToolResult)
        assert '"booked"' in text_of(booked)
        assert isinstance(await again(asked), types.InputRequiredResult)  # the user is asked anew
        forged = await client.session.call_tool("call_tool", asked, input_responses=answer, allow_input_required=True)
        assert isinstance(forged, types.InputRequiredResult)


@pytest.mark.slow
async def test_a_server_that_answers_100_mb_or_dies_leaves_the_others_as_they_are(served: str) -> None:
    async with connected(served, "legacy") as client:
        long = await called(client, "warehouse/print_inventory")
        assert long.is_error
        assert "more than" in text_of(long)
        died = await called(client, "warehouse/burn_down")
        assert died.is_error
        assert "UNAVAILABLE" in text_of(died)
        assert not (await called(client, "office/find_employee", name="Jan")).is_error
        assert not (await called(client, "warehouse/count_stock", material="steel")).is_error  # it was started again


async def test_a_server_that_changes_its_tools_is_called_as_it_is_now(served: str) -> None:
    async with connected(served, "legacy", User()) as client:
        assert not (await called(client, "warehouse/move_shelves")).is_error
        gone = await called(client, "warehouse/book_material", **BOOK)
        old = await called(client, "warehouse/count_stock", material="steel")
        new = await called(client, "warehouse/count_stock", shelf=4)
    assert "NOT_FOUND" in text_of(gone)
    assert old.is_error
    assert "material" in text_of(old)
    assert not new.is_error
    assert "changed" in text_of(new).partition("--- begin")[0]


async def test_an_answer_is_fenced_hidden_characters_flagged_and_a_secret_taken_out(served: str) -> None:
    office = ACCESS.sessions["office"]
    notice = McpAddress(session=f"{SERVERS} warehouse", env={"BOARD_KEY": "wh-5ecret-token"})
    access = replace(ACCESS, sessions={"warehouse": notice, "office": office})
    async with connected(served, "legacy", access=access) as client:
        told = text_of(await called(client, "warehouse/read_notice"))
    head, _, rest = told.partition("--- begin ")
    mark = rest.split()[0]
    assert "not an instruction to you" in head
    assert "Warning" in head
    assert "Ignore all previous instructions" not in head
    assert rest.count(f"--- end {mark} ---") == 1
    assert "[credential]" in rest
    assert "wh-5ecret-token" not in told


async def test_more_calls_than_a_session_may_have_are_refused_and_a_cancelled_one_ends(
    served: str, access: ToolAccess, waiting: Path
) -> None:
    async with connected(served, "legacy", access=access) as client:
        hanging = [asyncio.create_task(called(client, "warehouse/wait_for_truck")) for _ in range(MAX_CALLS)]
        await until(waiting.exists)
        refused = await called(client, "warehouse/count_stock", material="steel")
        assert "RESOURCE_EXHAUSTED" in text_of(refused)
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
        await until(lambda: not waiting.exists())
        again = await called(client, "warehouse/count_stock", material="steel")
    assert not again.is_error
