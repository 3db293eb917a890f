"""An MCP server that changes its tools while a session is open."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from egotools import NotFoundError, ToolRequestError
from egotools.calling.mcp_invoker import McpAddress, McpInvoker
from tests.harness.waiting import LIMIT_S
from tests.planners.calls.tools import NOTHING, mcp

SERVER = """
import os
from mcp.server.mcpserver import MCPServer

server = MCPServer("changing")


@server.tool()
def stock(material: str) -> str:
    return f"seven {material} in {os.getpid()}"


@server.tool()
def change() -> str:
    def stock(material: str, plant: int) -> str:
        return f"{plant} of {material}"

    server.remove_tool("stock")
    server.add_tool(stock)
    return os.environ.get("TOKEN", "changed")


@server.tool()
def leave() -> str:
    server.remove_tool("stock")
    return "gone"


server.run()
"""
STOCK = mcp("stock", {"type": "object", "properties": {"material": {"type": "string"}}, "required": ["material"]})


@pytest.fixture
def addresses(tmp_path: Path) -> dict[str, McpAddress]:
    script = tmp_path / "changing.py"
    script.write_text(SERVER, encoding="utf-8")
    return {"warehouse": McpAddress(session=f"mcp:{sys.executable} {script}", env={"TOKEN": "Bearer s3cr3t-token"})}


async def test_a_tool_that_changed_is_checked_against_what_it_takes_now(addresses: dict[str, McpAddress]) -> None:
    async with McpInvoker(addresses, timeout_s=LIMIT_S) as one, McpInvoker(addresses, timeout_s=LIMIT_S) as other:
        before = await one.invoke(STOCK, {"material": "tin"})
        assert before.notes == ()
        of_another = await other.invoke(STOCK, {"material": "tin"})
        assert of_another.body != before.body  # a block has its own process
        assert (await one.invoke(mcp("change", NOTHING), {})).body == {
            "result": "[credential]"
        }  # without the word Bearer
        with pytest.raises(ToolRequestError) as caught:
            await one.invoke(STOCK, {"material": "tin"})
        assert (caught.value.subject, "have changed" in caught.value.remedy) == ("plant", True)
        with pytest.raises(ToolRequestError) as caught:
            await one.invoke(STOCK, {"material": "tin", "plant": "x"})
        assert caught.value.subject == "plant"
        after = await one.invoke(STOCK, {"material": "tin", "plant": 3})
        assert after.ok and "not those of the catalogue" in after.notes[0]
        assert (await one.invoke(mcp("leave", NOTHING), {})).ok
        with pytest.raises(NotFoundError) as gone:
            await one.invoke(STOCK, {"material": "tin"})
        assert (gone.value.reason, gone.value.subject) == ("TOOL_GONE", "stock")
        assert (await one.invoke(mcp("leave", NOTHING), {})).body is not None  # the session is as before
        assert (await other.invoke(STOCK, {"material": "tin"})).notes == ()
