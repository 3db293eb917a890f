"""Calls to model endpoints that may fail for a moment: exponential back-off with jitter that honours Retry-After."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from ontology.errors import InvalidArgumentError, ModelError

__all__ = ["TRANSIENT_STATUSES", "RetryPolicy", "TransientFailure", "call_with_retries", "parse_retry_after"]

T = TypeVar("T")

TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP statuses that another attempt may cure."""


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently a call is repeated.

    :param max_retries: attempts after the first, 0 or more.
    :param base_delay_s: the wait before the first retry, doubled for each further one.
    :param max_delay_s: the longest wait that back-off comes to.
    :param max_retry_after_s: the longest Retry-After that is waited for; a longer one ends the call at once.
    """

    max_retries: int = 4
    base_delay_s: float = 0.5
    max_delay_s: float = 20.0
    max_retry_after_s: float = 120.0

    def __post_init__(self) -> None:
        for field in ("max_retries", "base_delay_s", "max_delay_s", "max_retry_after_s"):
            if not getattr(self, field) >= 0:
                raise InvalidArgumentError("a negative value makes no sense", subject=field, remedy="Give 0 or more")

    def delay_s(self, retry: int) -> float:
        """Wait between half of the back-off and all of it, so that many callers do not come back at once."""
        full = min(self.max_delay_s, self.base_delay_s * 2.0 ** min(retry, 60))
        return full * random.uniform(0.5, 1.0)


class TransientFailure(Exception):
    """One attempt failed in a way that another may not; never leaves :func:`call_with_retries`.

    :param problem: what went wrong, without secrets.
    :param retry_after_s: how long the server asked to be left alone, if it did.
    """

    def __init__(self, problem: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.retry_after_s = retry_after_s


def call_with_retries(attempt: Callable[[], T], *, policy: RetryPolicy, subject: str) -> T:
    """Call until it succeeds, fails for good, or the policy's retries are used up.

    :param attempt: one call; raises :class:`TransientFailure` where a repetition may help.
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
            time.sleep(max(wait_s or 0.0, policy.delay_s(retry)))
    attempts = "1 attempt" if retry == 0 else f"{retry + 1} attempts"
    raise ModelError(
        f"{problem} ({attempts})", subject=subject, remedy="Check that the endpoint runs and is not overloaded"
    )


def parse_retry_after(value: str | None) -> float | None:
    """Read a Retry-After header, seconds or an HTTP date; what is neither counts as absent."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return _seconds_until(value)
    return max(0.0, seconds) if seconds == seconds else None


def _seconds_until(value: str) -> float | None:
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
