"""Work in threads, which cannot be stopped: whoever is cancelled meanwhile ends only with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, TypeVar

__all__ = ["ended", "in_thread"]

_T = TypeVar("_T")


async def in_thread(threads: Executor, work: Callable[[], _T]) -> _T:
    """Return what work on a thread returns. When this is cancelled, work that has begun is waited for."""
    submitted = threads.submit(work)
    future = asyncio.wrap_future(submitted)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if not submitted.cancel():
            await ended(future)
        raise


async def ended(future: asyncio.Future[Any]) -> None:
    """Wait until a task or future has ended, also when the caller is cancelled meanwhile."""
    while not future.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([future])
