"""A session with an MCP server that is kept for several calls, over stdio or streamable HTTP, through the official SDK (extra ``mcp``)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from egotools.calling.address_guard import IDENTITY, is_encoded
from egotools.calling.invoker import (
    MAX_BYTES,
    MAX_DEPTH,
    TIMEOUT_S,
    ToolAnswer,
    compressed,
    off_loop,
    too_large,
    too_slow,
    unreachable,
)
from egotools.calling.tool_request import McpCall
from egotools.client_errors import (
    ClientError,
    MissingPackageError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    ToolRequestError,
    UnavailableError,
)
from egotools.values import Tool

NOT_CONFIRMED = "NOT_CONFIRMED"
"""The reason of a call without consent, whoever calls: a gateway, a planner, an agent's framework."""
MAX_ANSWER_BYTES = 64 * 2**20
"""Bytes of all that a server writes to its standard output, at most."""
MAX_ERROR_BYTES = 64 * 2**10
"""The last bytes of its standard error that are kept."""
_EFFECTS = ("read", "idempotent", "change")  # the weakest first
_MAX_SCHEMA_BYTES, _MAX_PROPERTIES = 256 * 2**10, 1_000
_MOST_PAGES, _MOST_TOOLS = 100, 10_000  # of a server's list
_EXIT_S, _CLOSE_S = 2.0, 10.0  # for a server to end after its input is closed; for saying goodbye


def first_cause(error: BaseException) -> BaseException:
    """The first error that is no group: of several tasks, or of several addresses of one host, each may have failed."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def not_confirmed(
    tool_id: str,
    problem: str = "nobody confirmed it",  # why there is no consent
    remedy: str = "Do not repeat the call unless the user asks for it.",
) -> PermissionDeniedError:
    """Return the error of a call without consent."""
    text = f"the call may change something, and {problem}; nothing was sent"
    return PermissionDeniedError(text, tool_id, remedy, reason=NOT_CONFIRMED)


class StrongerEffectError(PermissionDeniedError):
    """By its server a tool does more now than the catalogue says. Whoever may decide is asked about ``tool``, which has the effect that
    the server states; nothing was sent.
    """

    def __init__(self, tool: Tool) -> None:
        problem = (
            "its server does not say any more that it does as little as the catalogue has it, so the call may change something and"
            " needs consent; nothing was sent"
        )
        remedy = "Confirm the call, or let the catalogue be built again."
        super().__init__(problem, tool.id, remedy, reason=NOT_CONFIRMED)
        self.tool = tool


def stronger_effect(one: str, other: str) -> str:
    """Return the effect that does more; an empty one is not known and counts as a change."""
    return max(one or "change", other or "change", key=_EFFECTS.index)


class LiveTool(NamedTuple):
    """What the server says of a tool: the JSON Schema of its arguments, and its effect by its annotations."""

    input_schema: dict[str, Any]
    effect: str


class ServerOutput:
    """What is known of the output of a server; ``max_bytes`` of all its answers, by default 64 MiB."""

    def __init__(self, max_bytes: int = 0) -> None:
        self.max_bytes = max_bytes or MAX_ANSWER_BYTES
        self.size = 0  # bytes of answers so far
        self.too_large = False  # whether it wrote more
        self.compressed = False  # whether an answer over HTTP was compressed; it was not read
        self.refused = 0  # the status with which it refused a request over HTTP (401, 403), or 0
        self._errors = b""

    def add(self, count: int) -> bool:
        """Count bytes of answers; return whether there may be more."""
        self.size += count
        self.too_large |= self.size > self.max_bytes
        return not self.too_large

    def add_errors(self, chunk: bytes) -> None:
        """Keep the last bytes of the standard error."""
        self._errors = (self._errors + chunk)[-MAX_ERROR_BYTES:]

    @property
    def last_line(self) -> str:
        """The last line of its standard error that is not empty, or empty."""
        lines = [line.strip() for line in self._errors.decode("utf-8", errors="replace").splitlines()]
        return next((line for line in reversed(lines) if line), "")


@contextlib.asynccontextmanager
async def stdio_server(
    words: Sequence[str], env: Mapping[str, str], output: ServerOutput
) -> AsyncIterator[tuple[Any, Any]]:
    """Start a server and yield the streams of its messages, as the SDK's client expects them; OSError when the command cannot be started.

    The SDK's own transport bounds no output, and leaves behind what a server started that ends by itself.

    :param env: environment variables beside the few that the SDK hands on.
    """
    import anyio
    from anyio.streams.buffered import BufferedByteReceiveStream
    from mcp.client.stdio import get_default_environment
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    own = {**get_default_environment(), **env}
    process: Any = await anyio.open_process(list(words), env=own, start_new_session=True)
    received_in, received = anyio.create_memory_object_stream[Any](0)
    sent, sent_out = anyio.create_memory_object_stream[Any](0)
    broken = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)

    async def read_errors() -> None:
        with contextlib.suppress(*broken):
            async for chunk in process.stderr:
                output.add_errors(chunk)

    async def read_messages() -> None:
        lines = BufferedByteReceiveStream(process.stdout)
        ended = (*broken, anyio.EndOfStream, anyio.IncompleteRead)
        with contextlib.suppress(*ended):
            async with received_in:
                while True:
                    try:
                        line = await lines.receive_until(b"\n", output.max_bytes)
                    except anyio.DelimiterNotFound:
                        output.too_large = True
                        return
                    if not output.add(len(line)):
                        return
                    try:
                        message: Any = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                    except ValueError as error:
                        message = error  # the session decides what a line means that is no message
                    await received_in.send(message)

    async def write_messages() -> None:
        try:
            async for each in sent_out:
                text: str = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(text.encode() + b"\n")
        except broken:
            await received_in.aclose()  # so that the session ends instead of waiting for an answer

    async def stop() -> None:
        """Close the standard input, wait a little, then kill the process and all that it started."""
        with contextlib.suppress(*broken):
            await process.stdin.aclose()
        for _ in range(2):
            with anyio.move_on_after(_EXIT_S):
                while process.returncode is None:
                    await anyio.sleep(0.01)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    try:
        async with anyio.create_task_group() as tasks:
            for work in (read_errors, read_messages, write_messages):
                tasks.start_soon(work)
            try:
                yield received, sent
            finally:
                with anyio.CancelScope(shield=True):
                    await stop()
                tasks.cancel_scope.cancel()
    finally:
        for stream in (received, received_in, sent, sent_out):
            stream.close()
        with anyio.CancelScope(shield=True), anyio.move_on_after(_EXIT_S):
            await process.aclose()


@contextlib.asynccontextmanager
async def http_server(url: str, headers: Mapping[str, str], output: ServerOutput) -> AsyncIterator[tuple[Any, Any]]:
    """Connect to a server and yield the streams of its messages, as the SDK's client expects them. A compressed answer is refused before it
    is read. The SDK follows redirects within the origin only, so no other host gets the headers.
    """
    import httpx2  # of the extra `mcp`
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    class CountedStream(httpx2.AsyncByteStream):
        """The body of one answer."""

        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self._stream:
                if not output.add(len(part)):
                    raise httpx2.ReadError(f"the answers are larger than {output.max_bytes} bytes")
                yield part

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def bound(response: Any) -> None:
        if response.status_code in (401, 403):
            output.refused = response.status_code
        if is_encoded(response.headers):
            output.compressed = True
            raise httpx2.ReadError("the answer is compressed")
        response.stream = CountedStream(response.stream)

    async with create_mcp_http_client(headers={**headers, **IDENTITY}) as client:
        client.event_hooks = {"response": [bound]}
        async with streamable_http_client(url, http_client=client) as streams:
            yield streams


class _Connection:
    """One connection, which lives in a task of its own: the SDK's client must end where it began."""

    def __init__(self, opening: Any, output: ServerOutput) -> None:
        self.output = output
        # Set when the server has answered.
        self.client: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.users = 0  # calls under way
        self.leave = asyncio.Event()
        self.task = asyncio.create_task(self._live(opening))

    async def answer(self, ask: Callable[[Any], Awaitable[Any]]) -> Any:
        """Ask the server through the SDK's client, and return what that returns; raise when the connection ends before."""
        client = await asyncio.shield(self.client)
        call = asyncio.ensure_future(ask(client))
        try:
            await asyncio.wait([call, self.task], return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                raise ConnectionError("the session ended")
            return call.result()
        finally:
            call.cancel()

    async def _live(self, opening: Any) -> None:
        async def taken(name: str, result: Any) -> None:
            """Take an answer as it is. The SDK would check it in the event loop against a schema of the server, for as long as that likes."""

        try:
            async with opening as client:
                client.session.validate_tool_result = taken
                self.client.set_result(client)
                await self.leave.wait()
        except BaseException as error:
            if not self.client.done():
                failure = error if isinstance(error, Exception) else ConnectionError("the session was closed")
                self.client.set_exception(failure)
                self.client.exception()  # so that nobody is told of an error for which nobody waited
            if not isinstance(error, Exception):
                raise


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
        self._session, self._headers, self._env = session, dict(headers or {}), dict(env or {})
        self._max_bytes = max_bytes
        self._connection: _Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def call(self, call: McpCall, *, timeout_s: float = TIMEOUT_S) -> ToolAnswer:
        """Call a tool.

        :raises ToolRequestError: when the session is no address; MissingPackageError: when the SDK ``mcp`` is not installed.
        :raises ClientDeadlineError: when the answer is not there in time; OverloadedError: when it is too large.
        :raises UnavailableError: when the server cannot be started or reached, or fails.
        """
        given = dict(call.arguments)
        answer = await self._asked(call.tool, lambda client: client.call_tool(call.tool, given), timeout_s)

        def values() -> tuple[dict[str, Any], int]:
            """The answer as JSON values, and the length of its texts."""
            options: dict[str, Any] = {"mode": "json", "by_alias": True, "exclude_none": True}
            found: dict[str, Any] = answer.model_dump(**options, exclude={"structured_content"})
            if answer.structured_content is not None:
                found["structuredContent"] = answer.structured_content
            size, waiting = 0, [found]
            while waiting:
                value: Any = waiting.pop()
                if isinstance(value, str):
                    size += len(value)
                elif isinstance(value, Mapping | list):
                    waiting += value.values() if isinstance(value, Mapping) else value
            return found, size

        found, size = await off_loop(self.answer_bytes, values)
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

        async def listed(client: Any) -> Any:
            cursor, tools = None, 0
            for _ in range(_MOST_PAGES):
                page = await client.list_tools(cursor=cursor, cache_mode="bypass")
                if found := next((each for each in page.tools if each.name == tool), None):
                    return found
                cursor, tools = page.next_cursor, tools + len(page.tools)
                if not cursor:
                    remedy = "Look for another tool; who runs the catalogue builds it again."
                    raise NotFoundError("the MCP server no longer has this tool", tool, remedy, reason="TOOL_GONE")
                if tools > _MOST_TOOLS:
                    break
            problem = f"the list of the MCP server has more than {_MOST_PAGES} pages or {_MOST_TOOLS:,} tools"
            raise OverloadedError(problem, tool, "Let the server list fewer tools.")

        found = await self._asked(tool, listed, timeout_s)
        over = "256 KiB" if len(json.dumps(found.input_schema)) > _MAX_SCHEMA_BYTES else ""
        waiting: list[tuple[Any, int]] = [(found.input_schema, 0)]
        properties = 0
        while waiting and not over:
            value, depth = waiting.pop()
            if isinstance(value, Mapping) and isinstance(value.get("properties"), Mapping):
                properties += len(value["properties"])
            if properties > _MAX_PROPERTIES or depth > MAX_DEPTH:
                over = f"{MAX_DEPTH} levels" if depth > MAX_DEPTH else f"{_MAX_PROPERTIES:,} properties"
            inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
            waiting += [(part, depth + 1) for part in inner]
        if over:
            problem = f"the input schema that the MCP server lists has more than {over}; nothing was sent"
            remedy = "Use another tool; who runs the server makes its schema smaller."
            raise OverloadedError(problem, tool, remedy, reason="SCHEMA_TOO_LARGE")
        said = {} if found.annotations is None else found.annotations.model_dump(by_alias=True)
        effect = "idempotent" if said.get("idempotentHint") is True else "change"
        if said.get("readOnlyHint") is True and said.get("destructiveHint") is not True:
            effect = "read"
        return LiveTool(found.input_schema, effect)

    async def close(self) -> None:
        """End the session; a server on stdio and all that it started are killed."""
        if self._connection is not None:
            self._connection.leave.set()
            if self._connection.client.done():
                await asyncio.wait([self._connection.task], timeout=_CLOSE_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _asked(self, tool: str, ask: Callable[[Any], Awaitable[Any]], timeout_s: float) -> Any:
        connection = self._connected()
        from mcp.shared.exceptions import MCPError  # is there: else there were no connection
        from mcp_types import CONNECTION_CLOSED

        connection.users += 1
        try:
            async with asyncio.timeout(timeout_s):
                return await connection.answer(ask)
        except Exception as error:  # the SDK, its HTTP client and the process each raise errors of their own
            answered = isinstance(error, MCPError) and error.code != CONNECTION_CLOSED
            is_of_call = answered or isinstance(error, TimeoutError | ClientError)
            if not is_of_call or not connection.client.done():  # the next call connects anew
                connection.leave.set()
                self._connection = None if self._connection is connection else self._connection
            cause, output = first_cause(error), connection.output
            if isinstance(cause, ClientError):
                raise cause from None
            if output.too_large:
                raise too_large(tool, output.max_bytes) from None
            if output.compressed:
                raise compressed(tool) from None
            if output.refused:
                remedy = "Give its token as a header (on the command line --header 'Authorization=Bearer ${VAR}')."
                raise UnavailableError(f"the server refuses the request ({output.refused})", tool, remedy) from None
            if isinstance(cause, TimeoutError):
                raise too_slow(tool, timeout_s) from None
            missing = isinstance(cause, FileNotFoundError)
            why = "there is no such command" if missing else type(cause).__name__
            raise unreachable(tool, why) from None
        finally:
            connection.users -= 1

    def _connected(self) -> _Connection:
        """Return the connection, begun where there is none."""
        if self._connection is not None:
            if not self._connection.users:
                self._connection.output.size = 0
            return self._connection
        try:
            from mcp import Client
        except ImportError as error:
            raise MissingPackageError("mcp") from error
        output = ServerOutput(max(MAX_ANSWER_BYTES, 2 * self._max_bytes))  # with what the protocol adds to an answer
        if self._session.startswith(("mcp+http://", "mcp+https://")):
            opening: Any = http_server(self._session.removeprefix("mcp+"), self._headers, output)
        else:
            try:
                words = shlex.split(self._session.removeprefix("mcp:")) if self._session.startswith("mcp:") else []
            except ValueError:
                words = []
            if not words:
                remedy = "Write mcp:COMMAND ARGUMENTS or mcp+https://HOST/PATH."
                raise ToolRequestError("this is no address of an MCP server", "session", remedy)
            opening = stdio_server(words, self._env, output)
        self._connection = _Connection(Client(opening), output)
        self._tasks.add(self._connection.task)
        self._connection.task.add_done_callback(self._tasks.discard)
        return self._connection
