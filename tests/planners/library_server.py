"""A server over a store of a test, in this process, and its client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from egotools import AsyncClient
from retrieval.snapshot_engine import open_engine
from services.server.server import Server
from services.server.settings import ServerSettings


@asynccontextmanager
async def client_of(store: Path) -> AsyncIterator[AsyncClient]:
    async with serving(store) as server, AsyncClient(server.address) as client:
        yield client


@asynccontextmanager
async def serving(store: Path) -> AsyncIterator[Server]:
    server = Server(ServerSettings(port=0, workers=2, drain_s=0.0))
    await server.start()
    try:
        await server.load(lambda: open_engine(store))
        yield server
    finally:
        await server.stop(grace_s=1.0)
