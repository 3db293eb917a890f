"""Calls of a model on threads of their own, so that the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Event, Thread
from typing import Any, TypeVar

from inference.retry import end_retries_with

__all__ = ["abandoned_calls", "on_a_thread"]

T = TypeVar("T")

_under_way: set[asyncio.Future[Any]] = set()


def on_a_thread(name: str, work: Callable[[], T]) -> asyncio.Future[T]:
    """Run on a daemon thread: a process that is interrupted does not wait for its model before it ends.

    A call that is under way cannot be stopped; when nobody waits for it any more, it is not repeated.

    :param name: of the thread.
    """
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()

    answer, ended = asyncio.wrap_future(result), Event()
    answer.add_done_callback(lambda _: ended.set())
    _under_way.add(answer)

    def run() -> None:
        end_retries_with(ended)
        try:
            result.set_result(work())
        except BaseException as error:  # whoever waits gets it
            result.set_exception(error)
        finally:
            _under_way.discard(answer)

    Thread(target=run, name=name, daemon=True).start()
    return answer


def abandoned_calls() -> int:
    """Return how many calls are under way that nobody waits for any more."""
    return sum(answer.cancelled() for answer in tuple(_under_way))
