"""When a recurring event happens (RFC 5545, section 3.8.5), up to a day: a rule without an end has no last occurrence."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import islice
from typing import Any

from dateutil.rrule import YEARLY, rrule, rrulestr  # type: ignore[import-untyped]
from icalendar.cal import Component

__all__ = ["MAX_OCCURRENCES", "EmptyRuleError", "occurrences"]

MAX_OCCURRENCES = 2_000
"""Occurrences of one event; the rest is left out."""
_LEAP_YEAR = 2024
_MAX_DAYS = 100_000  # that a rule is followed for: 270 years
_DAYS_OF_YEAR, _DAYS_OF_MONTH = 366, 31
_SPLIT_DAYS = ("SECONDLY", "MINUTELY", "HOURLY")


class EmptyRuleError(ValueError):
    """A rule that no day meets; or none within 270 years."""


class _TooLongError(Exception):
    """A rule was followed for longer than any calendar needs."""


class _BoundedRule(rrule):  # type: ignore[misc]
    """A rule of dateutil that looks at so many days only: that looks for a day that meets a rule until the year 9999, and has no
    bound of its own. It reads this attribute once for each year or month that it goes to; iCalendar knows no Easter.
    """

    _looked_at = 0

    @property
    def _byeaster(self) -> None:
        self._looked_at += _DAYS_OF_YEAR if self._freq == YEARLY else _DAYS_OF_MONTH
        if self._looked_at > _MAX_DAYS:
            raise _TooLongError


def occurrences(event: Component, until: date) -> list[datetime | date]:
    """Return the starts of an event, in order and in the form of its ``DTSTART``; of a single event its one start.

    The rule counts in the wall time of the event's zone, so that an event at 9 stays at 9 when summer time begins.

    :param until: the day after the last one on which an occurrence may start; the first is kept even if it starts later.
    :raises ValueError: when the rule is none, one of several, or repeats within a day.
    :raises EmptyRuleError: when no day meets it.
    """
    start = event.decoded("DTSTART")
    zone = start.tzinfo if isinstance(start, datetime) else None
    wall = start.replace(tzinfo=None) if isinstance(start, datetime) else datetime.combine(start, time())
    found: set[datetime] = {wall}
    rules = _listed(event.get("RRULE"))
    if len(rules) > 1:  # RFC 5545, section 3.8.5.3: it should not occur more than once
        raise ValueError(f"it has {len(rules)} rules")
    for rule in rules:
        text = rule.to_ical().decode()
        if any(f"FREQ={each}" in text for each in _SPLIT_DAYS):
            raise ValueError("its rule repeats within a day")
        if not _possible(rule):
            raise ValueError("its rule names a day that no month has")
        text = ";".join(part for part in text.split(";") if not part.startswith("UNTIL"))
        ends = [_wall(each, zone) for each in _listed(rule.get("UNTIL"))]
        last = min([datetime.combine(until, time()) - timedelta(microseconds=1), *ends])
        each = None
        bounded = rrulestr(text, dtstart=wall)
        bounded.__class__ = _BoundedRule
        with suppress(_TooLongError):
            for each in islice(bounded, MAX_OCCURRENCES):
                if each > last:
                    break
                found.add(each)
        if each is None:
            raise EmptyRuleError("its rule names no day")
    found |= {_wall(each.dt, zone) for each in _dates(event, "RDATE")}
    found -= {_wall(each.dt, zone) for each in _dates(event, "EXDATE")}
    limit = max(datetime.combine(until, time()), wall + timedelta(microseconds=1))
    kept = sorted(each for each in found if each < limit)[:MAX_OCCURRENCES]
    return [each.replace(tzinfo=zone) if isinstance(start, datetime) else each.date() for each in kept]


def _possible(rule: Any) -> bool:
    """Whether a month of the rule has a day of it; one without would be looked for until the year 9999."""
    days = [abs(int(day)) for day in _listed(rule.get("BYMONTHDAY"))] or [1]
    months = [int(month) for month in _listed(rule.get("BYMONTH"))] or [1]
    return any(day <= monthrange(_LEAP_YEAR, month)[1] for day in days for month in months if 1 <= month <= 12)


def _wall(moment: Any, zone: tzinfo | None) -> datetime:
    moment = moment[0] if isinstance(moment, tuple) else moment
    if not isinstance(moment, datetime):
        # A day as the end of a rule of times means all of that day.
        return datetime.combine(moment, time())
    return (moment.astimezone(zone) if moment.tzinfo and zone else moment).replace(tzinfo=None)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _dates(event: Component, name: str) -> Iterable[Any]:
    for group in _listed(event.get(name)):
        yield from getattr(group, "dts", ())
