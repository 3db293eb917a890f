"""A session with an MCP server that is kept for several calls, over stdio or streamable HTTP, through the official SDK."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from egotools.calling.first_cause import first_cause
from egotools.calling.live_tool import LiveTool, check_size, live_effect
from egotools.calling.mcp_stdio import MAX_ANSWER_BYTES, ServerOutput, stdio_server
from egotools.calling.off_loop import off_loop
from egotools.calling.tool_answer import MAX_BYTES, TIMEOUT_S, ToolAnswer, compressed, too_large, too_slow, unreachable
from egotools.calling.tool_request import McpCall
from egotools.client_errors import (
    ClientError,
    MissingPackageError,
    NotFoundError,
    OverloadedError,
    ToolRequestError,
    UnavailableError,
)

__all__ = ["McpSession"]

_CLOSE_S = 10.0  # for saying goodbye
_MOST_PAGES, _MOST_TOOLS = 100, 10_000  # of a server's list; chosen, not tuned
_NO_END: Final = object()


@dataclass(slots=True, eq=False)
class _Connection:
    """One connection, which lives in a task of its own: the SDK's client must end where it began.

    :param client: set when the server has answered; has the error where it does not.
    :param users: calls under way.
    """

    output: ServerOutput
    client: asyncio.Future[Any]
    last_call_over: asyncio.Event
    task: asyncio.Task[None] | None = None
    users: int = 0
    retired: bool = False

    def retire(self) -> None:
        """End the connection when its last call is over."""
        self.retired = True
        if not self.users:
            self.last_call_over.set()


class McpSession:
    """Connects at the first call, and again after the connection failed. Calls may overlap.

    :param session: ``mcp:COMMAND …`` to start a server on stdio, or ``mcp+http(s)://…``.
    :param headers: of each HTTP request (a token); another host than that of the address never gets them.
    :param env: environment variables of a server on stdio, beside the few that the SDK hands on.
    :param max_bytes: of the text of an answer.
    """

    def __init__(
        self,
        session: str,
        *,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._session = session
        self._headers = dict(headers or {})
        self._env = dict(env or {})
        self._max_bytes = max_bytes
        self._connection: _Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def call(self, call: McpCall, *, timeout_s: float = TIMEOUT_S) -> ToolAnswer:
        """Call a tool; the errors are those of :func:`egotools.calling.send_mcp.send_mcp`."""
        answer = await self._asked(
            call.tool, lambda client: client.call_tool(call.tool, dict(call.arguments)), timeout_s
        )
        found, size = await off_loop(self.answer_bytes, _values, answer)
        if size > self._max_bytes:
            raise too_large(call.tool, self._max_bytes)
        failed = found.get("isError") is True
        return ToolAnswer(ok=not failed, status="error" if failed else "ok", body=found, size=size)

    @property
    def answer_bytes(self) -> int:
        """Bytes that the server has sent since no call was under way."""
        return self._connection.output.size if self._connection is not None else 0

    async def live_tool(self, tool: str, *, timeout_s: float = TIMEOUT_S) -> LiveTool:
        """Return a tool as the server lists it now.

        :raises NotFoundError: when the server lists no such tool.
        :raises OverloadedError: when its list has no end within 100 pages and 10,000 tools, or too many bytes, and when the input
            schema is larger than 256 KiB, 1,000 properties or 100 levels.
        """
        found = await self._asked(tool, lambda client: _listed(client, tool), timeout_s)
        if found is None:
            raise NotFoundError(
                "the MCP server no longer has this tool",
                code="NOT_FOUND",
                reason="TOOL_GONE",
                subject=tool,
                remedy="Look for another tool; who runs the catalogue builds it again.",
            )
        if found is _NO_END:
            raise OverloadedError(
                f"the list of the MCP server has more than {_MOST_PAGES} pages or {_MOST_TOOLS:,} tools",
                code="RESOURCE_EXHAUSTED",
                subject=tool,
                remedy="Let the server list fewer tools.",
            )
        check_size(found.input_schema, tool)
        return LiveTool(found.input_schema, live_effect(_annotations(found)))

    async def _asked(self, tool: str, ask: Callable[[Any], Awaitable[Any]], timeout_s: float) -> Any:
        """Ask the server through the SDK's client, and return what that returns."""
        connection = self._connected()
        connection.users += 1
        try:
            async with asyncio.timeout(timeout_s):
                client = await asyncio.shield(connection.client)
                return await _answer(connection, ask(client))
        except Exception as error:  # the SDK, its HTTP client and the process each raise errors of their own
            if not isinstance(error, TimeoutError) or not connection.client.done():
                self._retire(connection)
            raise _call_error(tool, error, connection.output, timeout_s) from None
        finally:
            connection.users -= 1
            if connection.retired:
                connection.retire()

    async def close(self) -> None:
        """End the session; a server on stdio and all that it started are killed."""
        connection = self._connection
        if connection is not None:
            self._retire(connection)
            if connection.task is not None and connection.client.done() and not connection.users:
                await asyncio.wait([connection.task], timeout=_CLOSE_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self) -> _Connection:
        """Return the connection, begun where there is none.

        :raises ToolRequestError: when the session is no address.
        :raises MissingPackageError: when the SDK is not installed.
        """
        if self._connection is not None:
            if not self._connection.users:
                self._connection.output.restart()
            return self._connection
        try:
            from mcp import Client
        except ImportError as error:
            raise MissingPackageError("mcp") from error
        output = ServerOutput(max(MAX_ANSWER_BYTES, 2 * self._max_bytes))  # with what the protocol adds to an answer
        server = _mcp_server(self._session, self._headers, self._env, output)
        connection = _Connection(output, asyncio.get_running_loop().create_future(), asyncio.Event())
        connection.task = asyncio.create_task(_live(connection, Client(server)))
        self._tasks.add(connection.task)
        connection.task.add_done_callback(self._tasks.discard)
        self._connection = connection
        return connection

    def _retire(self, connection: _Connection) -> None:
        if self._connection is connection:
            self._connection = None
        connection.retire()


async def _live(connection: _Connection, opening: Any) -> None:
    """Open a connection, and hold it until its last call is over."""
    try:
        async with opening as client:
            client.session.validate_tool_result = _taken
            connection.client.set_result(client)
            await connection.last_call_over.wait()
    except BaseException as error:
        if not connection.client.done():
            failure = error if isinstance(error, Exception) else ConnectionError("the session was closed")
            connection.client.set_exception(failure)
            connection.client.exception()  # so that nobody is told of an error for which nobody waited
        if not isinstance(error, Exception):
            raise


async def _listed(client: Any, name: str) -> Any:
    """Return a tool as it is listed, None where it is not, or that the list has no end."""
    cursor, tools = None, 0
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        if found := next((tool for tool in page.tools if tool.name == name), None):
            return found
        cursor, tools = page.next_cursor, tools + len(page.tools)
        if not cursor:
            return None
        if tools > _MOST_TOOLS:
            break
    return _NO_END


def _annotations(listed: Any) -> dict[str, Any]:
    return {} if listed.annotations is None else dict(listed.annotations.model_dump(by_alias=True))


async def _answer(connection: _Connection, calling: Any) -> Any:
    """Return the answer of a call, or raise when its connection ends before."""
    call = asyncio.ensure_future(calling)
    try:
        await asyncio.wait([call, *([connection.task] if connection.task else ())], return_when=asyncio.FIRST_COMPLETED)
        if not call.done():
            raise ConnectionError("the session ended")
        return call.result()
    finally:
        call.cancel()


def _call_error(tool: str, error: Exception, output: ServerOutput, timeout_s: float) -> ClientError:
    if output.too_large:
        return too_large(tool, output.max_bytes)
    if output.compressed:
        return compressed(tool)
    if output.refused:
        return _refused(tool, output.refused)
    return _mcp_error(tool, error, timeout_s)


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


async def _taken(name: str, result: Any) -> None:
    """Take an answer as it is. The SDK would check it in the event loop against a schema of the server, for as long as that likes."""


def _values(answer: Any) -> tuple[dict[str, Any], int]:
    """Return an answer as JSON values, and the length of its texts."""
    found: dict[str, Any] = answer.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"structured_content"}
    )
    if answer.structured_content is not None:
        found["structuredContent"] = answer.structured_content
    size, waiting = 0, [found]
    while waiting:
        value: Any = waiting.pop()
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found, size
