"""Run a coroutine from a synchronous function; the error of its tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["first_cause", "run_async"]

_Result = TypeVar("_Result")


def run_async(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine and return its result; in a new thread when the caller's thread has a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def first_cause(error: BaseException) -> BaseException:
    """The first error that is no group: of several tasks, or of several addresses of one host, each may have failed."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
