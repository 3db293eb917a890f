"""Dates: days, times, weeks, months and years of one request, all in one format, each later than the one before."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

__all__ = ["TIMES", "Dates"]

_NEW_YEAR = date(2026, 1, 1)
_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_SOON = ("today", "tomorrow", *(f"next {day}" for day in _DAYS[:5]), "the end of next week", "the end of the month")
_LATELY = ("the start of last month", "last Monday", "yesterday", "today")
_DAY_FORMATS = (
    "{d.day} {month}", "{month} {d.day}", "the {nth} of {month}", "{month:.3} {d.day}", "{d.day}.{d.month}",
    "{weekday} {d.day} {month}", "{weekday} the {nth}", "{month} {nth}", "{d.day} {month:.3}",
)  # fmt: skip
_CLOCKS = 3
_THIS = ("last", "this", "next")
_HOURS = "one two three four five six seven eight nine ten eleven twelve".split()
_FIRST_HOUR, _LAST_HOUR = 7, 19


@dataclass(slots=True)
class Dates:
    """The times that a request has stated so far.

    :param day_format: the format of days, as its place in a list.
    :param clock: the format of times, in [0, 3).
    :param relative: whether days are relative to today: ``tomorrow``.
    :param day: the last day that was stated, in days since the start of the year; -1 before the first.
    :param hour: the last hour that was stated; -1 before the first.
    :param place: the last relative time, as its place in a list; -1 before the first.
    :param number: the last week or month; -1 before the first.
    :param fixed_year: the only year of the request; 0 before it is stated.
    :param past: whether a day in the past was stated.
    :param happened: whether the next times are of what has happened, which no time in the future selects.
    """

    rng: random.Random
    day_format: int = field(init=False)
    clock: int = field(init=False)
    relative: bool = field(init=False)
    day: int = -1
    hour: int = -1
    place: int = -1
    number: int = -1
    fixed_year: int = 0
    past: bool = False
    happened: bool = False

    def __post_init__(self) -> None:
        self.day_format, self.clock = self.rng.randrange(len(_DAY_FORMATS)), self.rng.randrange(_CLOCKS)
        self.relative = self.rng.random() < 0.2

    def reset(self) -> None:
        """Forget the times that were stated, but not their format: an unrelated part of the request follows."""
        self.day = self.hour = self.place = self.number = -1
        self.fixed_year, self.past = 0, False

    def state(self, kind: str) -> str:
        """A time of a kind, one of :data:`TIMES`."""
        return TIMES[kind](self)

    def date(self) -> str:
        """A day."""
        if self.past:
            return self.rng.choice(("yesterday", "today"))
        days = _LATELY if self.happened else _SOON
        if self.relative and self.place < len(days) - 1:
            self.place = self.rng.randint(self.place + 1, min(self.place + 4, len(days) - 1))
            return days[self.place]
        self.day = self.day + self.rng.randint(1, 18) if self.day >= 0 else self.rng.randint(8, 300)
        return _formatted(_NEW_YEAR + timedelta(days=self.day), self.day_format)

    def time(self) -> str:
        """A time of day."""
        first = self.hour < 0 or self.hour >= _LAST_HOUR
        self.hour = self.rng.randint(_FIRST_HOUR, 16) if first else self.hour + self.rng.choice((1, 1, 2, 3))
        half = (self.hour - 1) % 12 + 1
        if self.clock == 0:
            return f"{self.hour}:{self.rng.choice(('00', '15', '30', '45'))}"
        if self.clock == 1:
            return f"{half}{'am' if self.hour < 12 else 'pm'}"
        return self.rng.choice((f"half past {_HOURS[half - 1]}", f"{half} o'clock"))

    def datetime(self) -> str:
        """A day with its time; after the first one a later time of that day."""
        return f"{self.date()} at {self.time()}" if self.hour < 0 else self.time()

    def week(self) -> str:
        """A week."""
        if self.relative:
            return self._relative("week")
        self.number = self.rng.randint(2, 40) if self.number < 0 else self.number + self.rng.randint(1, 4)
        return f"{'week' if self.clock else 'calendar week'} {self.number}"

    def month(self) -> str:
        """A month."""
        if self.relative:
            return self._relative("month")
        self.number = self.rng.randrange(9) if self.number < 0 else min(self.number + self.rng.randint(1, 3), 11)
        return _MONTHS[self.number]

    def year(self) -> str:
        """A year, the same one in a whole request: people rarely compare years."""
        if self.relative:
            return "this year" if self.clock else "last year"
        self.fixed_year = self.fixed_year or self.rng.choice((2023, 2024, 2025, 2025, 2026))
        return str(self.fixed_year)

    def since(self) -> str:
        """A day in the past, from which something has run until today."""
        self.past = True
        day = _NEW_YEAR + timedelta(days=self.rng.randint(8, 300))
        return f"last {self.rng.choice(_MONTHS)}" if self.relative else _formatted(day, self.day_format)

    def _relative(self, unit: str) -> str:
        self.place = min(self.place + self.rng.randint(1, 2), 1 if self.happened else 2)
        return f"{_THIS[self.place]} {unit}"


def _formatted(day: date, day_format: int) -> str:
    month, weekday = _MONTHS[day.month - 1], _DAYS[day.weekday()]
    return _DAY_FORMATS[day_format].format(d=day, month=month, weekday=weekday, nth=_ordinal(day.day))


def _ordinal(day: int) -> str:
    ending = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


TIMES: Mapping[str, Callable[[Dates], str]] = {
    "date": Dates.date,
    "time": Dates.time,
    "datetime": Dates.datetime,
    "week": Dates.week,
    "month": Dates.month,
    "period": Dates.month,
    "year": Dates.year,
    "past": Dates.since,
}
"""Kind of value → the method that states one."""
