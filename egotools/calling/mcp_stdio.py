"""The process of an MCP server that talks over its standard input and output, with limits.

It takes the place of the SDK's own transport, which keeps whatever a server writes and leaves processes behind that the
server has started. Here the bytes of all answers are counted, the last part of the standard error is kept in memory and
the rest forgotten, and at the end the whole process group is killed.

Reading a catalogue and calling a tool both use it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

__all__ = ["MAX_ANSWER_BYTES", "MAX_ERROR_BYTES", "ServerOutput", "stdio_server"]

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
