"""A client of a running server, or of a store that is served on loopback meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from egotools import AsyncClient

__all__ = ["server_address", "tools_client"]


@contextlib.asynccontextmanager
async def tools_client(
    server: str, store: Path, allowed_models: Sequence[str] = (), **options: Any
) -> AsyncIterator[AsyncClient]:
    """Yield a client.

    :param server: address of a running server; empty: the store is served in this process.
    :param options: those of :class:`egotools.AsyncClient`.
    """
    async with server_address(server, store, allowed_models) as address, AsyncClient(address, **options) as client:
        yield client


@contextlib.asynccontextmanager
async def server_address(server: str, store: Path, allowed_models: Sequence[str] = ()) -> AsyncIterator[str]:
    """Yield the address of a server; the parameters are those of :func:`tools_client`."""
    if server:
        yield server
        return
    from retrieval.engine import open_engine
    from retrieval.snapshot.publish import current_snapshot
    from services.server.server import Server
    from services.server.settings import ServerSettings

    current_snapshot(store)  # an error of the store comes before a server is started
    own = Server(ServerSettings(port=0, workers=2, drain_s=0.0))
    address = await own.start()
    try:
        await own.load(lambda: open_engine(store, allowed_models=allowed_models))
        yield address
    finally:
        await own.stop(grace_s=1.0)
