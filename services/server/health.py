"""Health of the process (``""``) and of the service. Watchers see the shutdown and do not delay it."""

from __future__ import annotations

import asyncio
from typing import Any

from grpc_health.v1 import health, health_pb2

__all__ = ["Health"]

_Base: Any = health.aio.HealthServicer


class Health(_Base):  # type: ignore[misc]
    """The standard health service. The stream of each watcher ends when the server stops, not after its grace period."""

    def __init__(self) -> None:
        super().__init__()
        self._watching: set[asyncio.Task[Any]] = set()
        self._ending = False

    async def set_serving(self, service: str, serving: bool) -> None:
        """Set the status of a service to SERVING or NOT_SERVING."""
        status = health_pb2.HealthCheckResponse
        await self.set(service, status.SERVING if serving else status.NOT_SERVING)

    async def Watch(self, request: Any, context: Any) -> None:
        """Stream every change of the status until the caller or the server ends the stream."""
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
        """End the streams of all watchers. Call it only after they had time to receive the last status."""
        self._ending = True
        for task in list(self._watching):
            task.cancel()
