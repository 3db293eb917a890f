"""Calls to model endpoints: retries with exponential back-off, jitter and Retry-After; many at once in order."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from threading import Event
from typing import TypeVar

from ontology.errors import ModelError

T = TypeVar("T")

TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP statuses after which a retry may succeed."""
_NEVER = Event()
_ENDED: ContextVar[Event] = ContextVar("ended")
"""Set when nobody waits any more for the calls of this thread."""


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often a call is repeated, and after which delay.

    :param max_retries: attempts after the first, 0 or more.
    :param base_delay_s: seconds before the first retry, doubled for each further one.
    :param max_delay_s: the longest back-off, in seconds.
    :param max_retry_after_s: the longest Retry-After, in seconds; a longer one ends the call at once.
    :param pause_s: a call that fails after so many seconds, or more, lets those of the next so many seconds fail at once; 0: none.
    """

    max_retries: int = 4
    base_delay_s: float = 0.5
    max_delay_s: float = 20.0
    max_retry_after_s: float = 120.0
    pause_s: float = 0.0

    @classmethod
    def once(cls, wait_s: float) -> RetryPolicy:
        """One attempt, for callers that wait only so many seconds."""
        return cls(max_retries=0, pause_s=wait_s)

    def delay_s(self, retry: int) -> float:
        """A random share of the back-off, from half to all of it, so that many callers do not retry at the same time."""
        full = min(self.max_delay_s, self.base_delay_s * 2.0 ** min(retry, 60))
        return full * random.uniform(0.5, 1.0)


class TransientFailure(Exception):
    """An attempt failed, and another may succeed. It is never raised out of :func:`call_with_retries`.

    :param problem: what went wrong, without secrets.
    :param retry_after_s: Retry-After of the server, in seconds; None where it sent none.
    """

    def __init__(self, problem: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.retry_after_s = retry_after_s


def call_with_retries(attempt: Callable[[], T], *, policy: RetryPolicy, subject: str) -> T:
    """Call until an attempt succeeds, another error is raised, or all retries of the policy are used.

    :param attempt: one call; raises :class:`TransientFailure` where a retry may succeed.
    :param subject: the address without credentials.
    :raises ModelError: when the last attempt failed too.
    """
    for retry in range(policy.max_retries + 1):
        try:
            return attempt()
        except TransientFailure as failure:
            problem, wait_s = failure.problem, failure.retry_after_s
        if wait_s is not None and wait_s > policy.max_retry_after_s:
            problem = f"{problem} and asks to wait {wait_s:.0f} s"
            break
        if retry < policy.max_retries:
            if _ENDED.get(_NEVER).wait(max(wait_s or 0.0, policy.delay_s(retry))):
                problem = f"{problem}, and nobody waits for another"
                break
    attempts = "1 attempt" if retry == 0 else f"{retry + 1} attempts"
    raise ModelError(
        f"{problem} ({attempts})", subject=subject, remedy="Check that the endpoint runs and is not overloaded"
    )


def end_retries_with(ended: Event) -> None:
    """Let the calls of this thread not be repeated when this is set."""
    _ENDED.set(ended)


def parse_retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header, which holds seconds or an HTTP date; None for another value."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if seconds == seconds else None


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
