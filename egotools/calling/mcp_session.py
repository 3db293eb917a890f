"""A session with an MCP server that is kept for several calls, over stdio or streamable HTTP, through the official SDK."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

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

__all__ = [
    "MAX_ERROR_BYTES",
    "NOT_CONFIRMED",
    "LiveTool",
    "McpSession",
    "ServerOutput",
    "StrongerEffectError",
    "first_cause",
    "http_server",
    "not_confirmed",
    "stdio_server",
    "stronger_effect",
]


def first_cause(error: BaseException) -> BaseException:
    """The first error that is no group: of several tasks, or of several addresses of one host, each may have failed."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


NOT_CONFIRMED = "NOT_CONFIRMED"
"""Its reason, whoever calls: a gateway, a planner, an agent's framework."""


def not_confirmed(
    tool_id: str,
    problem: str = "nobody confirmed it",
    remedy: str = "Do not repeat the call unless the user asks for it.",
) -> PermissionDeniedError:
    """Return the error.

    :param problem: why there is no consent.
    """
    return PermissionDeniedError(
        f"the call may change something, and {problem}; nothing was sent",
        code="PERMISSION_DENIED",
        reason=NOT_CONFIRMED,
        subject=tool_id,
        remedy=remedy,
    )


_MAX_SCHEMA_BYTES = 256 * 2**10
_MAX_PROPERTIES = 1_000
_EFFECTS = ("read", "idempotent", "change")  # the weakest first


class LiveTool(NamedTuple):
    """What the server says of a tool.

    :param input_schema: JSON Schema of its arguments.
    :param effect: ``read``, ``idempotent`` or ``change``, by its annotations.
    """

    input_schema: dict[str, Any]
    effect: str


class StrongerEffectError(PermissionDeniedError):
    """By its server a tool does more now than the catalogue says. Whoever may decide is asked about :attr:`tool`; nothing was sent.

    :param tool: with the effect that the server states.
    """

    def __init__(self, tool: Tool) -> None:
        super().__init__(
            "its server does not say any more that it does as little as the catalogue has it, so the call may change something and"
            " needs consent; nothing was sent",
            code="PERMISSION_DENIED",
            reason=NOT_CONFIRMED,
            subject=tool.id,
            remedy="Confirm the call, or let the catalogue be built again.",
        )
        self.tool = tool


def live_effect(annotations: Mapping[str, Any]) -> str:
    """Return the effect that the annotations of a tool state; what they do not say counts as a change."""
    if annotations.get("readOnlyHint") is True and annotations.get("destructiveHint") is not True:
        return "read"
    return "idempotent" if annotations.get("idempotentHint") is True else "change"


def stronger_effect(one: str, other: str) -> str:
    """Return the effect that does more; an empty one is not known and counts as a change."""
    return max(one or "change", other or "change", key=_EFFECTS.index)


def check_size(schema: Mapping[str, Any], tool: str) -> None:
    """Check the limits of an input schema; it is walked no further than they go.

    :raises OverloadedError: above 256 KiB, 1,000 properties or 100 levels.
    """
    left, properties = _MAX_SCHEMA_BYTES, 0
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, str):
            left -= len(value.encode("utf-8", "replace")) + 2
        elif isinstance(value, Mapping):
            stated = value.get("properties")
            properties += len(stated) if isinstance(stated, Mapping) else 0
            left -= 2 * len(value) + 2
            if left >= 0:
                waiting += [(part, depth + 1) for pair in value.items() for part in pair]
        elif isinstance(value, list):
            left -= len(value) + 2
            if left >= 0:
                waiting += [(inner, depth + 1) for inner in value]
        else:
            left -= 4 + (value.bit_length() // 3 if isinstance(value, int) else 0)
        if left < 0:
            raise _too_large(tool, f"{_MAX_SCHEMA_BYTES // 2**10} KiB")
        if properties > _MAX_PROPERTIES:
            raise _too_large(tool, f"{_MAX_PROPERTIES:,} properties")
        if depth > MAX_DEPTH:
            raise _too_large(tool, f"{MAX_DEPTH} levels")


def _too_large(tool: str, limit: str) -> OverloadedError:
    return OverloadedError(
        f"the input schema that the MCP server lists has more than {limit}; nothing was sent",
        code="RESOURCE_EXHAUSTED",
        reason="SCHEMA_TOO_LARGE",
        subject=tool,
        remedy="Use another tool; who runs the server makes its schema smaller.",
    )


#: Maximum number of bytes of all that a server writes to its standard output. Chosen, not tuned, as the other limits here.
MAX_ANSWER_BYTES = 64 * 2**20
#: The last bytes of its standard error that are kept.
MAX_ERROR_BYTES = 64 * 2**10

_EXIT_S = 2.0  # for the server to end by itself after its standard input is closed
_DRAIN_S = 1.0


class ServerOutput:
    """What is known of the output of a server.

    :param max_bytes: of all its answers; by default :data:`MAX_ANSWER_BYTES`.
    :ivar too_large: whether it wrote more.
    :ivar compressed: whether an answer over HTTP was compressed; it was not read.
    :ivar refused: the status with which it refused a request over HTTP (401, 403), or 0.
    """

    def __init__(self, max_bytes: int = 0) -> None:
        self.max_bytes = max_bytes or MAX_ANSWER_BYTES
        self.too_large = False
        self.compressed = False
        self.refused = 0
        self._size = 0
        self._errors = b""

    def add(self, count: int) -> bool:
        """Count bytes of answers; return whether there may be more."""
        self._size += count
        self.too_large |= self._size > self.max_bytes
        return not self.too_large

    @property
    def size(self) -> int:
        """Bytes since the last :meth:`restart`."""
        return self._size

    def restart(self) -> None:
        """Count from zero again, for the next call of a session."""
        self._size = 0

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
    """Start a server and yield the streams of its messages, as the SDK's client expects them.

    :param words: the command and its arguments.
    :param env: environment variables beside the few that the SDK hands on.
    :raises OSError: when the command cannot be started.
    """
    import anyio
    from mcp.client.stdio import get_default_environment

    process = await anyio.open_process(list(words), env={**get_default_environment(), **env}, start_new_session=True)
    received_in, received = anyio.create_memory_object_stream[Any](0)
    sent, sent_out = anyio.create_memory_object_stream[Any](0)
    try:
        async with anyio.create_task_group() as tasks:
            errors_read = anyio.Event()
            tasks.start_soon(_read_errors, process, output, errors_read)
            tasks.start_soon(_read_messages, process, output, received_in)
            tasks.start_soon(_write_messages, process, sent_out, received_in)
            try:
                yield received, sent
            finally:
                with anyio.CancelScope(shield=True):
                    await _stop(process)
                    with anyio.move_on_after(_DRAIN_S):
                        await errors_read.wait()
                tasks.cancel_scope.cancel()
    finally:
        for stream in (received, received_in, sent, sent_out):
            stream.close()
        with anyio.CancelScope(shield=True), anyio.move_on_after(_DRAIN_S):
            await process.aclose()


async def _read_errors(process: Any, output: ServerOutput, done: Any) -> None:
    import anyio

    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async for chunk in process.stderr:
            output.add_errors(chunk)
    done.set()


async def _read_messages(process: Any, output: ServerOutput, received: Any) -> None:
    """Hand on each line as a message; the stream is closed when the server says too much."""
    import anyio

    buffer = bytearray()
    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async with received:
            async for chunk in process.stdout:
                if not output.add(len(chunk)):
                    return
                buffer += chunk
                if b"\n" in chunk:
                    *lines, rest = bytes(buffer).split(b"\n")
                    buffer = bytearray(rest)
                    for line in lines:
                        await received.send(_message(line))


def _message(line: bytes) -> Any:
    """Return a message, or the error of a line that is none: the session decides what that means."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _write_messages(process: Any, sent: Any, received: Any) -> None:
    import anyio

    try:
        async for message in sent:
            text: str = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stdin.send(text.encode() + b"\n")
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        await received.aclose()  # so that the session ends instead of waiting for an answer


async def _stop(process: Any) -> None:
    """Close the standard input, wait a little, then kill the process and all that it started."""
    import anyio

    with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(_EXIT_S):
        while process.returncode is None:
            await anyio.sleep(0.01)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.move_on_after(_EXIT_S):
        while process.returncode is None:
            await anyio.sleep(0.01)


@contextlib.asynccontextmanager
async def http_server(url: str, headers: Mapping[str, str], output: ServerOutput) -> AsyncIterator[tuple[Any, Any]]:
    """Connect to a server and yield the streams of its messages, as the SDK's client expects them.

    A compressed answer is refused before it is read.

    :param headers: sent with each request; the SDK follows redirects within the origin only, so no other host gets them.
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
        if response.status_code in _REFUSED:
            output.refused = response.status_code
        if is_encoded(response.headers):
            output.compressed = True
            raise httpx2.ReadError("the answer is compressed")
        response.stream = CountedStream(response.stream)

    async with create_mcp_http_client(headers={**headers, **IDENTITY}) as client:
        client.event_hooks = {"response": [bound]}
        async with streamable_http_client(url, http_client=client) as streams:
            yield streams


_REFUSED = (401, 403)
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
        """Call a tool; the errors are those of :func:`egotools.calling.mcp_invoker.send_mcp`."""
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
