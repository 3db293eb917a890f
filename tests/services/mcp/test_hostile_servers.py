"""Servers behind the gateway that list and answer what nobody expects: the model reads none of it unfenced, and others do not wait."""

import sys
from dataclasses import replace

import pytest
from mcp import Client

from egotools.calling.mcp_invoker import McpAddress
from planners.calls.tool_access import CallPolicy, CallRule, ToolAccess
from tests.harness.waiting import LIMIT_S
from tests.services.mcp.conftest import ACCESS, ERAS, User, connected, gateway, text_of
from tests.services.mcp.hostile_server import ORDER
from tests.services.mcp.test_gateway_calls import called

TOKEN = "wh5ecrettoken"


def taken_over(kind: str) -> ToolAccess:
    """The warehouse is in other hands; the office is not."""
    session = f"mcp:{sys.executable} -m tests.services.mcp.hostile_server"
    warehouse = McpAddress(session=f"{session} {kind}", env={"BOARD_KEY": TOKEN})
    office = McpAddress(session=f"{session} office")
    return replace(ACCESS, sessions={"warehouse": warehouse, "office": office}, timeout_s=LIMIT_S)


@pytest.mark.parametrize(
    "arguments", [{}, {"material": "tin"}, {"other": 1}, {"material": "tin", ORDER: "x"}, {ORDER: 1, "x": 2}]
)
async def test_texts_of_a_changed_schema_are_fenced_and_without_secrets(
    served: str, arguments: dict[str, object]
) -> None:
    async with connected(served, "legacy", access=taken_over("texts")) as client:
        refused = await called(client, "warehouse/count_stock", **arguments)
    told = text_of(refused)
    head, _, rest = told.partition("--- begin ")
    assert refused.is_error
    assert "have changed since the catalogue was built" in head
    if ORDER not in arguments:
        assert "Ignore all" not in head
    assert "Ignore all" in rest
    assert TOKEN not in told
    assert len(told) < 12_000


@pytest.mark.parametrize(("kind", "limit"), [("many", "1,000 properties"), ("long", "256 KiB"), ("deep", "100 levels")])
async def test_a_schema_above_the_limits_ends_its_call_alone(served: str, kind: str, limit: str) -> None:
    async with gateway(served, taken_over(kind)) as server:
        async with Client(server.server, mode="legacy") as one, Client(server.server, mode="legacy") as other:
            refused = text_of(await called(one, "warehouse/count_stock", material="tin"))
            assert "RESOURCE_EXHAUSTED" in refused and limit in refused
            assert "xxxx" not in refused
            assert not (await called(other, "office/find_employee", name="Jan")).is_error
            assert not (await called(one, "office/find_employee", name="Jan")).is_error


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", ["destructive", "withdrawn"])
async def test_a_tool_that_only_read_and_does_so_no_more_is_asked_about(served: str, kind: str, era: str) -> None:
    user = User()
    async with connected(served, era, user, access=taken_over(kind)) as client:
        assert not (await called(client, "warehouse/count_stock", material="tin")).is_error
        user.action = "decline"
        assert "nothing was sent" in text_of(await called(client, "warehouse/count_stock", material="tin"))
    assert len(user.asked) == 2
    async with connected(served, era, access=taken_over(kind)) as client:  # there is nobody to ask
        refused = text_of(await called(client, "warehouse/count_stock", material="tin"))
    assert "PERMISSION_DENIED" in refused and "--policy" in refused, "what the operator does"
    only_reads = CallPolicy(
        rules=(CallRule(decision="allow", effect=("read",)), CallRule(decision="deny", effect=("change",)))
    )
    async with connected(served, era, user, access=replace(taken_over(kind), policy=only_reads)) as client:
        refused = text_of(await called(client, "warehouse/count_stock", material="tin"))
    assert "the policy of the operator refuses" in refused
    assert len(user.asked) == 2
