"""Calendar units: the day, week, weekend, month, quarter, half-year, year or decade that holds a day, and those before and after it."""

from __future__ import annotations

from datetime import date, timedelta

from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]

from planners.query.dates.date_range import DateRange

__all__ = ["LENGTHS", "UNITS", "unit_of", "unit_range"]

LENGTHS = {
    "day": relativedelta(days=1),
    "week": relativedelta(weeks=1),
    "fortnight": relativedelta(weeks=2),
    "weekend": relativedelta(weeks=1),
    "month": relativedelta(months=1),
    "quarter": relativedelta(months=3),
    "half": relativedelta(months=6),
    "year": relativedelta(years=1),
    "decade": relativedelta(years=10),
}
"""Unit → the distance to the next one."""

UNITS = "|".join(LENGTHS)
"""The units as a regular expression, singular."""


def unit_of(word: str) -> str:
    """The unit of a word in the singular or plural."""
    return word.rstrip("s") if word not in ("half", "halves") else "half"


def unit_range(unit: str, day: date, shift: int = 0) -> DateRange:
    """Return the unit that holds a day, or the one that many units later. A weekend is Saturday and Sunday of the day's week.

    :raises ValueError, OverflowError: outside the years 1 to 9999.
    """
    start = _start(unit, day) + shift * LENGTHS[unit]
    return DateRange(start, start + (timedelta(days=2) if unit == "weekend" else LENGTHS[unit]))


def _start(unit: str, day: date) -> date:
    if unit == "day":
        return day
    monday = day - timedelta(days=day.weekday())
    if unit in ("week", "fortnight"):
        return monday
    if unit == "weekend":
        return monday + timedelta(days=5)
    months = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 12}[unit]
    year = day.year - day.year % 10 if unit == "decade" else day.year
    return date(year, (day.month - 1) // months * months + 1, 1)
