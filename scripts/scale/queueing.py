"""A server as a queue: so many workers, which slow each other down, and a bounded number of requests that wait."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["ServiceTime", "Simulated", "quantile", "simulate"]

_Z95 = NormalDist().inv_cdf(0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceTime:
    """The time that one request takes alone: log-normal, by its median and its 95th percentile."""

    median_ms: float
    p95_ms: float

    def draw_s(self, chance: random.Random) -> float:
        """Return seconds at random."""
        return chance.lognormvariate(math.log(self.median_ms / 1e3), math.log(self.p95_ms / self.median_ms) / _Z95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What callers would meet."""

    answers_per_s: float
    p50_ms: float
    p95_ms: float
    refused: int


def simulate(
    service: ServiceTime,
    *,
    rate_per_s: float,
    together: float,
    workers: int = 2,
    queue: int = 64,
    seconds: float = 5.0,
    warm_s: float = 1.0,
    seed: int = 0,
) -> Simulated:
    """Let requests arrive at random (Poisson) for a while, and count as the benchmark of the open loop does.

    :param together: speed of each worker while all are busy, as a share of its speed alone; in between it falls evenly.
    :param queue: requests that may wait; the next one is refused at once.
    :param warm_s: seconds at the start that do not count.
    """
    chance = random.Random(seed)
    arrivals = _arrivals(chance, rate_per_s, warm_s + seconds)
    waiting: deque[float] = deque()
    running: list[tuple[float, float]] = []  # seconds of work that are left, when it was due
    latencies: list[float] = []
    now, answered, refused = 0.0, 0, 0
    due = next(arrivals, math.inf)
    while running or due < math.inf:
        busy = len(running)
        speed = 1.0 if busy < 2 else 1.0 - (1.0 - together) * (busy - 1) / (workers - 1)
        done = now + min(running)[0] / speed if running else math.inf
        after = min(due, done)
        running = [(left - (after - now) * speed, since) for left, since in running]
        now = after
        if done <= due:
            running.sort()
            _, since = running.pop(0)
            answered += warm_s <= now < warm_s + seconds
            if warm_s <= since:
                latencies.append((now - since) * 1e3)
            if waiting:
                running.append((service.draw_s(chance), waiting.popleft()))
        else:
            if busy < workers:
                running.append((service.draw_s(chance), due))
            elif len(waiting) < queue:
                waiting.append(due)
            else:
                refused += warm_s <= due
            due = next(arrivals, math.inf)
    return Simulated(
        answers_per_s=answered / seconds,
        p50_ms=quantile(latencies, 0.5),
        p95_ms=quantile(latencies, 0.95),
        refused=refused,
    )


def _arrivals(chance: random.Random, rate_per_s: float, seconds: float) -> Iterator[float]:
    due = chance.expovariate(rate_per_s)
    while due < seconds:
        yield due
        due += chance.expovariate(rate_per_s)


def quantile(values: list[float], share: float) -> float:
    """Return the value below which a share of the values lies; 0 without values."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0
