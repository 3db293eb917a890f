"""Work beside the calls: on a thread of its own, at low priority, so that it never blocks the event loop or a worker."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["in_background"]

_T = TypeVar("_T")
_NICE = 10


async def in_background(work: Callable[[], _T], *, low_priority: bool = True) -> _T:
    """Run ``work`` on a thread of its own and return its result.

    :param low_priority: whether other threads get the processors first, where the system can do that for one thread.
    """
    lower = _lower_priority if low_priority else None
    pool = ThreadPoolExecutor(1, thread_name_prefix="egotools-background", initializer=lower)
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, work)
    finally:
        pool.shutdown(wait=False)


def _lower_priority() -> None:
    if sys.platform == "linux":  # elsewhere the priority is that of the whole process
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
