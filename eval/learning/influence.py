"""The influence of a session: less with its age, and bounded for each reporter, so that nobody counts more by reporting more."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from eval.learning.sessions import Session

__all__ = ["Influence", "Weighted"]

_DAY_S = 86_400.0
_LEAST_WEIGHT = 1 / 16
"""Sessions that count less are forgotten: after four half-lives."""
_LEAST_CAP = 20
"""A reporter may have this many sessions, however few the others have. Chosen, not tuned."""
_MOST = 20_000
"""Sessions that a snapshot keeps, the newest: their vectors are compared with each request, 2 ms for so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighted:
    """A session and how much it counts.

    :param weight: in (0, 1].
    :param reporter: a number for its reporter, from 0.
    """

    session: Session
    weight: float
    reporter: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """How the influence of sessions is bounded.

    :param half_life_days: after so many days a session counts half as much; 0: always the same.
    :param min_reporters: distinct reporters that must have used a tool or a pair before it counts. With 1 every reporter is trusted, and
        none is bounded.
    :param now: seconds since 1970; the newest session counts as of this time at the latest.
    """

    half_life_days: float = 90.0
    min_reporters: int = 2
    now: float | None = None

    def weigh(self, sessions: Sequence[Session]) -> list[Weighted]:
        """The sessions that count, in their order.

        Of a reporter only the newest count: as many as the median of all reporters, at least 20. A line of a file without a
        reporter is the operator's word and is not bounded.

        :param sessions: by time.
        """
        aged = [(session, self._weight(session, sessions)) for session in sessions]
        kept = [(session, weight) for session, weight in aged if weight >= _LEAST_WEIGHT]
        counts = Counter(session.reporter for session, _ in kept if session.reporter)
        cap = max(_LEAST_CAP, int(statistics.median(counts.values()))) if counts else 0
        numbers: dict[str, int] = {}
        seen: Counter[str] = Counter()
        newest_first: list[Weighted] = []
        for session, weight in reversed(kept):
            reporter = session.reporter
            seen[reporter] += 1
            if reporter and self.min_reporters > 1 and seen[reporter] > cap:
                continue
            number = numbers.setdefault(reporter or f"\0{len(numbers)}", len(numbers))
            newest_first.append(Weighted(session=session, weight=weight, reporter=number))
            if len(newest_first) == _MOST:
                break
        return newest_first[::-1]

    def _weight(self, session: Session, sessions: Sequence[Session]) -> float:
        newest = sessions[-1].time
        if session.time is None or newest is None or not self.half_life_days:
            return 1.0
        reference = min(newest, time.time() if self.now is None else self.now)
        days = max(0.0, reference - session.time) / _DAY_S
        return float(0.5 ** (days / self.half_life_days))
