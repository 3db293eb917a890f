"""A server over stores that runs for a block."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.server.server import Server


@asynccontextmanager
async def loaded(server: Server) -> AsyncIterator[Server]:
    """The server, listening, with what its stores publish; it is stopped with the block."""
    await server.start()
    try:
        await server.load_stores()
        yield server
    finally:
        await server.stop(0)
