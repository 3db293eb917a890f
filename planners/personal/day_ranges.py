"""Ranges of days as tools take them: ``2025-02-01/2025-03-01``, half-open."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from ontology.errors import InvalidArgumentError

__all__ = ["day_ranges"]

_OPEN = ("", "..")


def day_ranges(texts: list[str]) -> list[tuple[str, str, str]]:
    """Return each range as (as written, first day, day after the last); a single day is a range too, ``..`` an open end.

    :raises InvalidArgumentError: when one is no range.
    """
    return [(text, *_range(text)) for text in texts]


def _range(text: str) -> tuple[str, str]:
    start, slash, end = text.strip().partition("/")
    try:
        first = date.min if start in _OPEN else datetime.fromisoformat(start).date()
        if not slash:
            return first.isoformat(), (first + timedelta(days=1)).isoformat()
        moment = None if end in _OPEN else datetime.fromisoformat(end)
    except (ValueError, OverflowError):
        raise InvalidArgumentError(
            "no range of days", subject=text, remedy="Write it as 2025-02-01/2025-03-01, with .. for an open end"
        ) from None
    if moment is None:
        return first.isoformat(), date.max.isoformat()
    # A range that ends within a day takes that day in.
    last = moment.date() if moment.time() == time() else moment.date() + timedelta(days=1)
    return first.isoformat(), last.isoformat()
