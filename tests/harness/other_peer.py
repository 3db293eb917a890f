"""A second address of this machine: a forwarder, behind which a client is another peer for the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def other_peer(address: str, source: str = "127.0.0.2") -> AsyncIterator[str]:
    """Forward connections to ``address``, which then come from ``source``; yields the address to connect to."""
    host, _, port = address.rpartition(":")

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            there, back = await asyncio.open_connection(host, int(port), local_addr=(source, 0))
            await asyncio.gather(_copy(reader, back), _copy(there, writer))

    server = await asyncio.start_server(forward, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()
