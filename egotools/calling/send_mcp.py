"""Calling a tool of an MCP server, over stdio or streamable HTTP, through the official SDK."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from typing import Any

from egotools.calling.first_cause import first_cause
from egotools.calling.mcp_stdio import MAX_ANSWER_BYTES, ServerOutput, stdio_server
from egotools.calling.tool_answer import MAX_BYTES, TIMEOUT_S, ToolAnswer, compressed, too_large, too_slow, unreachable
from egotools.calling.tool_request import McpCall
from egotools.client_errors import ClientError, MissingPackageError, ToolRequestError, UnavailableError

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
    """Call a tool of an MCP server.

    :param session: ``mcp:COMMAND …`` to start a server on stdio, or ``mcp+http(s)://…``.
    :param headers: of each HTTP request (a token); another host than that of the address never gets them.
    :param env: environment variables of a server on stdio, beside the few that the SDK hands on.
    :raises ToolRequestError: when the session is none of these.
    :raises MissingPackageError: when the SDK ``mcp`` is not installed.
    :raises ClientDeadlineError: when the answer is not there in time.
    :raises OverloadedError: when the answer is too large.
    :raises UnavailableError: when the server cannot be started or reached, or fails.
    """
    try:
        from mcp import Client
    except ImportError as error:
        raise MissingPackageError("mcp") from error
    output = ServerOutput(max(MAX_ANSWER_BYTES, 2 * max_bytes))  # with what the protocol adds to an answer
    server = _mcp_server(session, headers or {}, env or {}, output)
    try:
        async with asyncio.timeout(timeout_s), Client(server, read_timeout_seconds=timeout_s) as client:
            answer = await client.call_tool(call.tool, dict(call.arguments))
            found = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    except Exception as error:  # the SDK, its HTTP client and the process each raise errors of their own
        if output.too_large:
            raise too_large(call.tool, output.max_bytes) from None
        if output.compressed:
            raise compressed(call.tool) from None
        if output.refused:
            raise _refused(call.tool, output.refused) from None
        raise _mcp_error(call.tool, error, timeout_s) from None
    if sum(map(len, _texts(found))) > max_bytes:
        raise too_large(call.tool, max_bytes)
    failed = found.get("isError") is True
    return ToolAnswer(ok=not failed, status="error" if failed else "ok", body=found)


def _mcp_server(session: str, headers: Mapping[str, str], env: Mapping[str, str], output: ServerOutput) -> Any:
    """Return what the SDK's client connects to."""
    if session.startswith(("mcp+http://", "mcp+https://")):
        from egotools.calling.mcp_http import http_server

        return http_server(session.removeprefix("mcp+"), headers, output)
    remedy = "Write mcp:COMMAND ARGUMENTS or mcp+https://HOST/PATH."
    try:
        words = shlex.split(session.removeprefix("mcp:")) if session.startswith("mcp:") else []
    except ValueError:
        words = []
    if not words:
        raise ToolRequestError("this is no address of an MCP server", subject="session", remedy=remedy)
    return stdio_server(words, env, output)


def _refused(tool: str, status: int) -> UnavailableError:
    return UnavailableError(
        f"the server refuses the request ({status})",
        code="UNAVAILABLE",
        subject=tool,
        remedy="Give its token as a header (on the command line --header 'Authorization=Bearer ${VAR}').",
    )


def _mcp_error(tool: str, error: Exception, timeout_s: float) -> ClientError:
    cause = first_cause(error)
    if isinstance(cause, ClientError):
        return cause
    if isinstance(cause, TimeoutError):
        return too_slow(tool, timeout_s)
    if isinstance(cause, FileNotFoundError):
        return unreachable(tool, "there is no such command")
    return unreachable(tool, type(cause).__name__)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _texts(one)]
