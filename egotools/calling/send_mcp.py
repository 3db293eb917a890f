"""Calling a tool of an MCP server, over stdio or streamable HTTP, through the official SDK."""

from __future__ import annotations

from collections.abc import Mapping

from egotools.calling.mcp_session import McpSession
from egotools.calling.tool_answer import MAX_BYTES, TIMEOUT_S, ToolAnswer
from egotools.calling.tool_request import McpCall

__all__ = ["send_mcp"]


async def send_mcp(
    call: McpCall,
    session: str,
    *,
    headers: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
    max_bytes: int = MAX_BYTES,
) -> ToolAnswer:
    """Call a tool of an MCP server, in a session of its own.

    :param session: ``mcp:COMMAND …`` to start a server on stdio, or ``mcp+http(s)://…``.
    :param headers: of each HTTP request (a token); another host than that of the address never gets them.
    :param env: environment variables of a server on stdio, beside the few that the SDK hands on.
    :raises ToolRequestError: when the session is none of these.
    :raises MissingPackageError: when the SDK ``mcp`` is not installed.
    :raises ClientDeadlineError: when the answer is not there in time.
    :raises OverloadedError: when the answer is too large.
    :raises UnavailableError: when the server cannot be started or reached, or fails.
    """
    opened = McpSession(session, headers=headers, env=env, max_bytes=max_bytes)
    try:
        return await opened.call(call, timeout_s=timeout_s)
    finally:
        await opened.close()
