"""A measured ratio with its bound, and the time of an awaited call."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

__all__ = ["Ratio", "seconds_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One ratio and its bound.

    :param above, below: what is divided, in seconds or bytes.
    :param most: the bound; a lower one where ``at_least``.
    """

    name: str
    above: float
    below: float
    most: float
    at_least: bool = False
    note: str = ""

    @property
    def value(self) -> float:
        """The ratio."""
        return self.above / self.below

    @property
    def met(self) -> bool:
        """Whether it is within its bound."""
        return self.value >= self.most if self.at_least else self.value <= self.most


async def seconds_of(work: Callable[[], Awaitable[object]]) -> float:
    """Return the seconds that an awaited call takes."""
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started
