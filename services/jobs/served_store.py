"""A client of a running server, or of one that serves a store in this process while a command works."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from egotools import AsyncClient


@asynccontextmanager
async def server_address(server: str, store: Path, allowed_models: Sequence[str] = ()) -> AsyncIterator[str]:
    """Yield the address of a running server; of none, the store is served on loopback in this process meanwhile."""
    if server:
        yield server
        return
    from retrieval.engine import open_engine
    from retrieval.snapshot.publish import current_snapshot
    from services.server.server import Server as OwnServer
    from services.server.settings import ServerSettings

    current_snapshot(store)  # an error of the store comes before a server is started
    own = OwnServer(ServerSettings(port=0, workers=2, drain_s=0.0))
    address = await own.start()
    try:
        await own.load(lambda: open_engine(store, allowed_models=allowed_models))
        yield address
    finally:
        await own.stop(grace_s=1.0)


@asynccontextmanager
async def tools_client(
    server: str, store: Path, allowed_models: Sequence[str] = (), **options: Any
) -> AsyncIterator[AsyncClient]:
    """Yield a client of :func:`server_address`, with the options of :class:`egotools.AsyncClient`."""
    async with server_address(server, store, allowed_models) as address, AsyncClient(address, **options) as client:
        yield client
