"""Calls of a model on threads of their own, so that the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

__all__ = ["on_a_thread"]

T = TypeVar("T")


def on_a_thread(name: str, work: Callable[[], T]) -> asyncio.Future[T]:
    """Run on a daemon thread: a process that is interrupted does not wait for its model before it ends.

    :param name: of the thread.
    """
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:  # whoever waits gets it
            result.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return asyncio.wrap_future(result)
