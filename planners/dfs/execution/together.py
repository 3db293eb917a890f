"""Awaiting several things at once, leaving no task behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TypeVar

__all__ = ["together"]

_Result = TypeVar("_Result")


async def together(jobs: Sequence[Coroutine[None, None, _Result]]) -> list[_Result]:
    """Return the results in their order; when one fails or the caller is cancelled, the others are cancelled and awaited first."""
    if len(jobs) == 1:
        return [await jobs[0]]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(job) for job in jobs]
    return [task.result() for task in tasks]
