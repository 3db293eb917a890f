"""Wait for an MCP server to say that its tools changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from egotools.calling.mcp_stdio import ServerOutput
from ingest.sources.access import NO_ACCESS, Access
from ingest.sources.mcp.live import connection

__all__ = ["watch_tools"]

_METHOD = "notifications/tools/list_changed"


async def watch_tools(address: str, changed: Callable[[], None], *, access: Access = NO_ACCESS) -> None:
    """Call ``changed`` after each change that the server at ``mcp:COMMAND …`` or ``mcp+http(s)://…`` tells, until it ends the
    connection or the task is cancelled.

    :raises Exception: of the SDK, when the server cannot be reached or the connection breaks.
    """
    from mcp import Client
    from mcp.client.subscriptions import ListenNotSupportedError
    from mcp.shared.exceptions import MCPError

    async def on_message(message: Any) -> None:
        if getattr(getattr(message, "root", message), "method", "") == _METHOD:
            changed()

    async with Client(connection(address, ServerOutput(), access), message_handler=on_message) as client:
        try:
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    changed()
        except (ListenNotSupportedError, MCPError):  # an older server sends it without being asked
            await asyncio.Event().wait()
