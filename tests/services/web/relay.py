"""A connection between a browser and the page that a test can cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Relay:
    """Passes bytes on, from a port of loopback to the page.

    :param address: of the page, as a browser reaches it through the relay.
    """

    def __init__(self, page: str) -> None:
        self._to = urlsplit(page)
        self._port = 0
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def join(self) -> None:
        """Listen, on the same port each time."""
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """End all connections, and take no new ones."""
        self._server.close()
        for writer in tuple(self._open):
            writer.transport.abort()
        await self._server.wait_closed()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self._to.hostname, self._to.port)
        self._open |= {writer, back}
        try:
            await asyncio.gather(_copy(reader, back), _copy(there, writer))
        finally:
            self._open -= {writer, back}


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
    target.close()


@asynccontextmanager
async def relayed(page: str) -> AsyncIterator[Relay]:
    """Stand between a browser and a page."""
    relay = Relay(page)
    await relay.join()
    try:
        yield relay
    finally:
        await relay.cut()
