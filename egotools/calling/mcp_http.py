"""The connection to an MCP server over HTTP, with headers and a limit of the bytes that it answers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from egotools.calling.content_encoding import IDENTITY, is_encoded
from egotools.calling.mcp_stdio import ServerOutput

__all__ = ["http_server"]

_REFUSED = (401, 403)


@contextlib.asynccontextmanager
async def http_server(url: str, headers: Mapping[str, str], output: ServerOutput) -> AsyncIterator[tuple[Any, Any]]:
    """Connect to a server and yield the streams of its messages, as the SDK's client expects them.

    A compressed answer is refused before it is read.

    :param headers: sent with each request; the SDK follows redirects within the origin only, so no other host gets them.
    """

    async def bound(response: Any) -> None:
        if response.status_code in _REFUSED:
            output.refused = response.status_code
        if is_encoded(response.headers):
            output.compressed = True
            raise httpx2.ReadError("the answer is compressed")
        response.stream = _CountedStream(response.stream, output)

    async with create_mcp_http_client(headers={**headers, **IDENTITY}) as client:
        client.event_hooks = {"response": [bound]}
        async with streamable_http_client(url, http_client=client) as streams:
            yield streams


class _CountedStream(httpx2.AsyncByteStream):
    """The body of one answer."""

    def __init__(self, stream: Any, output: ServerOutput) -> None:
        self._stream = stream
        self._output = output

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            if not self._output.add(len(part)):
                raise httpx2.ReadError(f"the answers are larger than {self._output.max_bytes} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
