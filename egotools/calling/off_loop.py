"""Work on a large answer in a thread: whoever else waits for the event loop is not kept waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

__all__ = ["off_loop"]

_LARGE_BYTES = 64 * 2**10
_THREADS = 2  # more would only share one interpreter; not the loop's own, which resolves names
_T = TypeVar("_T")


async def off_loop(size: int, work: Callable[..., _T], *arguments: Any) -> _T:
    """Return what a function returns; it is called in a thread where it works on more than 64 KiB.

    :param size: bytes of what it works on.
    """
    if size <= _LARGE_BYTES:
        return work(*arguments)
    return await asyncio.get_running_loop().run_in_executor(_threads(), work, *arguments)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="answer")
