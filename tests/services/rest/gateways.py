"""A gateway over a server in memory, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from services.rest.rest_server import RestSettings, serve_rest


@asynccontextmanager
async def gateway(target: str, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway to the gRPC service at ``target``."""
    async with (
        serve_rest(target, RestSettings(port=0, **options)) as url,
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client,
    ):
        yield client
