"""Half-open intervals of time as identifiers of date entities: ``2025-02-01/2025-03-01``; an open end is ``..`` (ISO 8601-2)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

_OPEN = ".."
_DAY = timedelta(days=1)


class Interval(NamedTuple):
    """A half-open interval in wall-clock time; None is an open end."""

    start: datetime | None
    end: datetime | None

    def holds(self, inner: Interval) -> bool:
        """Whether another interval lies inside this one."""
        begins = self.start is None or (inner.start is not None and self.start <= inner.start)
        return begins and (self.end is None or (inner.end is not None and inner.end <= self.end))

    def days(self) -> float | None:
        """Its length in days; None where an end is open."""
        return None if self.start is None or self.end is None else (self.end - self.start) / _DAY


def interval_id(ranges: Sequence[tuple[date | None, date | None]]) -> str | None:
    """Return the identifier of what is common to some half-open ranges (None is an open end), or None where nothing is."""
    start = max((start for start, _ in ranges if start is not None), key=_instant, default=None)
    end = min((end for _, end in ranges if end is not None), key=_instant, default=None)
    if start is not None and end is not None and _instant(start) >= _instant(end):
        return None
    return "/".join(_OPEN if each is None else each.isoformat() for each in (start, end))


@lru_cache(maxsize=65_536)
def read_interval(text: str) -> Interval | None:
    """Read the identifier of a date entity, a day (``2025-02-03``) or a moment; None where it is none of them.

    The last day that can be written, for ever in some systems, has an open end.
    """
    first, slash, second = text.partition("/")
    try:
        if slash:
            ends = (None if each == _OPEN else _instant(datetime.fromisoformat(each)) for each in (first, second))
            return Interval(*ends)
        start = _instant(datetime.fromisoformat(first))
    except ValueError:
        return None
    length = _DAY if len(first) == len("2025-02-03") else timedelta.resolution
    return Interval(start, start + length if datetime.max - start >= length else None)


def in_interval(value: object, interval: str) -> bool:
    """Whether a day or moment lies in a half-open interval, by the clock of where it was written; what is no date does."""
    inner, outer = read_interval(value) if isinstance(value, str) else None, read_interval(interval)
    return inner is None or outer is None or outer.holds(inner)


def day_of(text: str) -> str:
    """Return the interval of the day of a moment, by the clock of where it was written; another text as it is."""
    moment = read_interval(text) if "/" not in text else None
    day = moment and moment.start and read_interval(str(moment.start.date()))
    if not day or day.start is None:
        return text
    return f"{day.start.date()}/{_OPEN if day.end is None else day.end.date()}"


def window_arguments(interval: str, takes: str) -> dict[str, str]:
    """Return the arguments of a tool for an interval; ``takes`` are its inputs of beginning and end, ``from,to``; one may be empty.

    An open end is left out. Tools differ in whether their last day counts: :func:`in_interval` drops what is too late.
    """
    ends = zip(takes.split(","), interval.split("/"), strict=False)
    return {name: end for name, end in ends if name and end != _OPEN}


def _instant(value: date) -> datetime:
    """The wall-clock time: a day is the day where it was written."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
