"""Run a coroutine from a plain function."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["run_async"]

_Answer = TypeVar("_Answer")


def run_async(work: Coroutine[Any, Any, _Answer]) -> _Answer:
    """Run to the end, also where the caller's thread already has a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
