"""Health of the process (``""``) and of the service, whose watchers learn of the end and do not hold it up."""

from __future__ import annotations

import asyncio
from typing import Any

from grpc_health.v1 import health, health_pb2

__all__ = ["Health"]

_Base: Any = health.aio.HealthServicer


class Health(_Base):  # type: ignore[misc]
    """The standard health service; each watcher's stream ends with the server instead of outliving its grace."""

    def __init__(self) -> None:
        super().__init__()
        self._watching: set[asyncio.Task[Any]] = set()
        self._ending = False

    async def set_serving(self, service: str, serving: bool) -> None:
        """Say SERVING or NOT_SERVING for a service."""
        status = health_pb2.HealthCheckResponse
        await self.set(service, status.SERVING if serving else status.NOT_SERVING)

    async def Watch(self, request: Any, context: Any) -> None:
        """Tell every change until the caller or the server ends."""
        task = asyncio.current_task()
        if task is None or self._ending:
            return
        self._watching.add(task)
        try:
            await super().Watch(request, context)
        except asyncio.CancelledError:
            if not self._ending:
                raise
        finally:
            self._watching.discard(task)

    def end_watching(self) -> None:
        """End the streams of all watchers; give them time to hear what was last set before."""
        self._ending = True
        for task in list(self._watching):
            task.cancel()
