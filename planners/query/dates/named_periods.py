"""Periods with a name: quarters, halves, seasons, weekends, decades, weeks by number, holidays, and parts of a month or year.

Seasons are those of the north, in whole months. A period without a year is its last occurrence that has begun.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from dateutil.easter import easter  # type: ignore[import-untyped]

from ontology.number_words import ordinal_of
from planners.query.dates.calendar_units import unit_range
from planners.query.dates.date_range import DateRange

__all__ = ["named_range"]

_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_HOLIDAYS = {
    "christmas": (12, 25),
    "christmas day": (12, 25),
    "christmas eve": (12, 24),
    "new year's eve": (12, 31),
    "new year": (1, 1),
    "new year's day": (1, 1),
    "valentine's day": (2, 14),
    "halloween": (10, 31),
}
_YEAR = r"(?:,? (?:of |in )?(?P<year>\d{4})(?:[/-]\d{2,4})?|(?: of| in)? (?P<which>last|this|next|the same|that) year)?"
Inner = Callable[[str], DateRange]


def named_range(text: str, today: date, read: Inner) -> DateRange | None:
    """Read a named period, lower case, without a preposition or article at its start; None for any other.

    :param read: reads the expression inside another ("march" in "early march").
    :raises ValueError, OverflowError: outside the years 1 to 9999.
    """
    for pattern, rule in _RULES:
        found = re.fullmatch(pattern, text)
        if found:
            return rule(found, today, read)
    return None


def _months(found: re.Match[str], today: date, month: int, length: int) -> DateRange:
    """Some months from one on, in the year that the expression names, else the last ones that have begun."""
    year = int(found["year"]) if found["year"] else today.year + {"last": -1, "next": 1}.get(found["which"] or "", 0)
    if not found["year"] and not found["which"] and date(year, month, 1) > today:
        year -= 1
    last = unit_range("month", date(year, month, 1), length - 1)
    return DateRange(date(year, month, 1), last.end)


def _quarter(found: re.Match[str], today: date, _read: Inner) -> DateRange:
    number = int(found["digit"]) if found["digit"] else ordinal_of(found["word"]) or 4
    return _months(found, today, 3 * number - 2, 3)


def _quarter_after_year(found: re.Match[str], _today: date, _read: Inner) -> DateRange:
    return unit_range("quarter", date(int(found["y"]), 3 * int(found["digit"]), 1))


def _half(found: re.Match[str], today: date, _read: Inner) -> DateRange:
    number = int(found["digit"]) if found["digit"] else ordinal_of(found["word"]) or 2
    return _months(found, today, 6 * number - 5, 6)


def _season(found: re.Match[str], today: date, _read: Inner) -> DateRange:
    which, month = found["before"], _SEASONS[found["season"]]
    season = _months(found, today, month, 3)
    if found["year"] or found["which"] or not which or season.start is None:
        return season
    running = today in season
    if which in ("last", "past", "previous") and running:
        return _months(found, season.start - timedelta(days=1), month, 3)
    if which in ("next", "coming") or (which == "this" and not running):
        return DateRange(*(end and end.replace(year=end.year + 1) for end in (season.start, season.end)))
    return season


def _weekend(found: re.Match[str], today: date, read: Inner) -> DateRange:
    if not found["of"]:
        weekend = unit_range("weekend", today)
        return weekend if weekend.start and weekend.start <= today else unit_range("weekend", today, -1)
    return unit_range("weekend", _one_day(found["of"], read))


def _week_of(found: re.Match[str], today: date, read: Inner) -> DateRange:
    return unit_range("week", _one_day(found["of"], read))


def _one_day(text: str, read: Inner) -> date:
    found = read(text)
    if found.start is None or found.end != found.start + timedelta(days=1):
        raise ValueError(f"{text!r} is more than one day, so it is not known which week is meant")
    return found.start


def _week_number(found: re.Match[str], today: date, _read: Inner) -> DateRange:
    number = int(found["number"])
    if found["year"]:
        return unit_range("week", date.fromisocalendar(int(found["year"]), number, 1))
    monday = date.fromisocalendar(today.year, number, 1)
    return unit_range("week", monday if monday <= today else date.fromisocalendar(today.year - 1, number, 1))


def _iso_week(found: re.Match[str], _today: date, _read: Inner) -> DateRange:
    return unit_range("week", date.fromisocalendar(int(found["y"]), int(found["number"]), 1))


def _decade(found: re.Match[str], today: date, _read: Inner) -> DateRange:
    digits = found["decade"]
    year = int(digits) if len(digits) == 4 else today.year // 100 * 100 + int(digits)
    return unit_range("decade", date(year if year <= today.year else year - 100, 1, 1))


def _holiday(found: re.Match[str], today: date, _read: Inner) -> DateRange:
    year = int(found["year"]) if found["year"] else today.year + {"last": -1, "next": 1}.get(found["which"] or "", 0)

    def day(year: int) -> date:
        return easter(year) if found["holiday"].startswith("easter") else date(year, *_HOLIDAYS[found["holiday"]])

    assumed = not found["year"] and not found["which"]
    return unit_range("day", day(year) if day(year) <= today or not assumed else day(year - 1))


def _part(found: re.Match[str], _today: date, read: Inner) -> DateRange:
    """A third of a period, or a half of a short one."""
    whole = read(found["whole"])
    if whole.start is None or whole.end is None:
        raise ValueError("a part of a range without an end")
    months = (whole.end.year - whole.start.year) * 12 + whole.end.month - whole.start.month
    if months >= 3:
        first, second = (unit_range("month", whole.start, months * part // 3).start for part in (1, 2))
    else:
        first, second = (whole.start + (whole.end - whole.start) * part // 3 for part in (1, 2))
    part = found["part"]
    if part in ("early", "beginning of", "start of"):
        return DateRange(whole.start, first)
    return DateRange(first, second) if part in ("mid", "middle of") else DateRange(second, whole.end)


_RULES: tuple[tuple[str, Callable[[re.Match[str], date, Inner], DateRange]], ...] = (
    (rf"(?:q(?P<digit>[1-4])|(?P<word>first|second|third|fourth|last|1st|2nd|3rd|4th) quarter){_YEAR}", _quarter),
    (r"(?P<y>\d{4})[ -/]?q(?P<digit>[1-4])", _quarter_after_year),
    (rf"(?:h(?P<digit>[12])|(?P<word>first|second|last|1st|2nd) half){_YEAR}", _half),
    (rf"(?:(?P<before>last|past|previous|this|next|coming) )?(?P<season>{'|'.join(_SEASONS)}){_YEAR}", _season),
    (r"weekend(?: (?:of|around) (?P<of>.+))?", _weekend),
    (r"week (?:of|beginning|starting|commencing) (?P<of>.+)", _week_of),
    (r"(?:calendar )?week (?P<number>\d\d?)(?:(?: of|,)? (?P<year>\d{4}))?", _week_number),
    (r"(?P<y>\d{4})-w(?P<number>\d\d)", _iso_week),
    (r"'?(?P<decade>\d{3}0|\d0)'?s", _decade),
    (rf"(?P<holiday>{'|'.join(sorted(_HOLIDAYS, key=len, reverse=True))}|easter(?: sunday)?){_YEAR}", _holiday),
    (r"(?P<part>early|beginning of|start of|mid|middle of|late|end of)[ -](?P<whole>.+)", _part),
)
