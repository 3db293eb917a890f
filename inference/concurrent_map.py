"""A function mapped over items by several threads, with the results in the order of the items."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

__all__ = ["concurrent_map"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def concurrent_map(
    items: Iterable[Item], function: Callable[[Item], Result], *, concurrency: int
) -> Iterator[tuple[Item, Result]]:
    """Yield each item with its result, in order. At most ``2 * concurrency`` items are taken ahead of the consumer.

    When the consumer stops early, calls that have begun are finished and those that wait are dropped.

    :param concurrency: number of threads, at least 1.
    """
    waiting = iter(items)
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="map")
    submitted: deque[tuple[Item, Future[Result]]] = deque()

    def submit(count: int) -> None:
        for item in islice(waiting, count):
            submitted.append((item, pool.submit(function, item)))

    try:
        submit(2 * concurrency)
        while submitted:
            item, future = submitted.popleft()
            result = future.result()
            submit(1)
            yield item, result
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
