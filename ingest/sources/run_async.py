"""Run a coroutine from a synchronous function."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["run_async"]

_Result = TypeVar("_Result")


def run_async(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine and return its result; in a new thread when the caller's thread has a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
