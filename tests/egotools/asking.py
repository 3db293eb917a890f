"""Either client behind one way to ask: the same tests for both."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from egotools import AsyncClient, Client

KINDS = ("sync", "async")
Ask = Callable[..., Awaitable[Any]]


class client_of:
    """Either client behind one way to ask: ``async with client_of("sync", target) as ask: await ask("retrieve", …)``."""

    def __init__(self, kind: str, target: str, **options: Any) -> None:
        self.client: Any = (Client if kind == "sync" else AsyncClient)(target, **options)
        self.sync = kind == "sync"

    async def __aenter__(self) -> Ask:
        await self._do(self.client.__enter__ if self.sync else self.client.__aenter__)
        return lambda method, *given, **named: self._do(getattr(self.client, method), *given, **named)

    async def __aexit__(self, *error: object) -> None:
        await self._do(self.client.__exit__ if self.sync else self.client.__aexit__, *error)

    async def _do(self, method: Any, *given: Any, **named: Any) -> Any:
        if not self.sync:
            made = method(*given, **named)
            return [item async for item in made] if inspect.isasyncgen(made) else await made
        made = await asyncio.to_thread(method, *given, **named)
        return await asyncio.to_thread(list, made) if inspect.isgenerator(made) else made
