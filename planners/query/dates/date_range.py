"""Half-open ranges of days, either end of which may be open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

__all__ = ["DateRange", "DateReading"]

_OPEN = ".."  # ISO 8601-2


@dataclass(frozen=True, slots=True)
class DateRange:
    """The days from ``start`` on and before ``end``; None is an open end."""

    start: date | None = None
    end: date | None = None

    def __contains__(self, day: date) -> bool:
        """Whether a day lies in the range."""
        return (self.start is None or self.start <= day) and (self.end is None or day < self.end)

    def iso(self) -> str:
        """The identifier of the range: ``2025-02-01/2025-03-01``, an open end is ``..``."""
        return f"{self.start or _OPEN}/{self.end or _OPEN}"

    @classmethod
    def from_iso(cls, text: str) -> DateRange:
        """Read ``start/end``.

        :raises ValueError: for another text, and for a range that ends before it begins.
        """
        ends = [None if end in ("", _OPEN) else date.fromisoformat(end) for end in map(str.strip, text.split("/"))]
        if len(ends) != 2:
            raise ValueError(f"not an interval start/end: {text!r}")
        start, end = ends
        if start and end and end <= start:
            raise ValueError(f"the interval {text} ends before it begins")
        return cls(start, end)


@dataclass(frozen=True, slots=True)
class DateReading:
    """How a date expression was read.

    :param said: the reading as a sentence, with what was assumed.
    """

    range: DateRange
    said: str
