"""Telling clients that the list of tools may have changed, because the gRPC server serves another snapshot."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from egotools import AsyncClient, ClientError
from services.mcp.mcp_caller import McpCaller, set_token

__all__ = ["Notify", "SnapshotWatch"]

Notify: TypeAlias = Callable[[], Awaitable[None]]
"""Tells one client."""
_LOG = logging.getLogger("egotools.mcp")


@dataclass(slots=True, eq=False)
class _Watched:
    clients: list[Notify] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class SnapshotWatch:
    """Asks the gRPC server for its snapshot again and again, once for each caller, with the caller's rights.

    :param every_s: seconds between two questions.
    """

    def __init__(self, client: AsyncClient, every_s: float) -> None:
        self._client = client
        self._every_s = every_s
        self._watched: dict[str, _Watched] = {}

    @contextlib.contextmanager
    def telling(self, caller: McpCaller, notify: Notify) -> Iterator[None]:
        """Tell a client inside the block."""
        watched = self._watched.setdefault(caller.key, _Watched())
        watched.clients.append(notify)
        if watched.task is None:
            watched.task = asyncio.create_task(self._look(caller, watched))
        try:
            yield
        finally:
            watched.clients.remove(notify)
            if not watched.clients:
                watched.task.cancel()
                self._watched.pop(caller.key, None)

    async def _look(self, caller: McpCaller, watched: _Watched) -> None:
        set_token(caller.token)
        known = ""
        while True:
            with contextlib.suppress(
                ClientError
            ):  # the server may be down for a while, or refuse a token that has expired
                found = (await self._client.catalog(page_size=0)).snapshot_id
                if known and found != known:
                    _LOG.info("snapshot %s", found)
                    await asyncio.gather(*(notify() for notify in watched.clients), return_exceptions=True)
                known = found
            await asyncio.sleep(self._every_s)
