"""A planner that calls an observer with each event, as the stream of events that the page takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeAlias

from services.web.outlasting import ended
from services.web.run_events import Plan, PlanRequest, RunEvent

__all__ = ["Work", "observed"]

Work: TypeAlias = Callable[[PlanRequest, Callable[[RunEvent], None]], Awaitable[None]]
"""Works on a request in the event loop, and calls the observer with each event, the last one too."""


def observed(work: Work) -> Plan:
    """Return work with an observer as a plan. Whoever stops to read the events cancels the work and waits for its end."""

    async def plan(asked: PlanRequest) -> AsyncGenerator[RunEvent, None]:
        waiting: asyncio.Queue[RunEvent | None] = asyncio.Queue()
        task = asyncio.ensure_future(work(asked, waiting.put_nowait))
        task.add_done_callback(lambda ended: waiting.put_nowait(None))
        try:
            while (event := await waiting.get()) is not None:
                yield event
            await task
        finally:
            task.cancel()
            await ended(task)

    return plan
