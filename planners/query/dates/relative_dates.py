"""Ranges relative to today: "last week", "the past 3 months", "a couple of months ago", "the weekend before last"."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from ontology.number_words import WORDED_NUMBER, number_of
from planners.query.dates.calendar_units import LENGTHS, UNITS, unit_of, unit_range
from planners.query.dates.date_range import DateRange

__all__ = ["RELATIVE", "WEEKDAYS", "relative_range"]

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_VAGUE = {"couple": (2, 3), "couple of": (2, 3), "few": (3, 5), "several": (3, 7)}
_AMOUNT = rf"(?:(?P<n>[0-9]{{1,4}}|{WORDED_NUMBER}|an?) |(?:a )?(?P<vague>couple of|couple|few|several) )"
_WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAYS)}|{'|'.join(day[:3] for day in WEEKDAYS)}|tues|weds|thur|thurs)"
RELATIVE = re.compile(
    r"\b(?:last|past|previous|this|current|next|coming|following|ago|today|tonight|yesterday|tomorrow|now|so far|to date)\b"
)
"""Words by which an expression depends on today."""


def relative_range(text: str, today: date) -> DateRange | None:
    """Read an expression relative to today; lower case, without a preposition or article at its start. None for any other.

    :raises ValueError, OverflowError: outside the years 1 to 9999.
    """
    for pattern, read in _RULES:
        found = re.fullmatch(pattern, text)
        if found:
            return read(found, today)
    return None


def _days(found: re.Match[str], today: date) -> DateRange:
    shift = {"day before yesterday": -2, "day after tomorrow": 2, "last night": -1}
    by_word = {"yesterday": -1, "tomorrow": 1}
    return unit_range("day", today, shift.get(found[0], by_word.get(found[0].split()[0], 0)))


def _shifted(found: re.Match[str], today: date) -> DateRange:
    shift = {"last": -1, "previous": -1, "next": 1, "following": 1}.get(found["which"], 0)
    return unit_range(unit_of(found["unit"]), today, shift)


def _twice_shifted(found: re.Match[str], today: date) -> DateRange:
    return unit_range(unit_of(found["unit"]), today, 2 if found["way"] == "after next" else -2)


def _amount(found: re.Match[str]) -> tuple[int, int]:
    if found["vague"]:
        return _VAGUE[found["vague"]]
    number = found["n"] or ""
    exact = 1 if number in ("", "a", "an") else int(number_of(number) or 0)
    return exact, exact


def _ago(found: re.Match[str], today: date) -> DateRange:
    least, most = _amount(found)
    unit = unit_of(found["unit"])
    return DateRange(unit_range(unit, today, -most).start, unit_range(unit, today, -least).end)


def _bounded_ago(found: re.Match[str], today: date) -> DateRange:
    """Before or after the day that lies so far back: "more than 2 weeks ago", "at most a month ago"."""
    least, most = _amount(found)
    if least != most:
        raise ValueError("it is not known from which day on")
    day, way = today - most * LENGTHS[unit_of(found["unit"])], found["way"]
    after = day + timedelta(days=1)
    if way in ("more than", "over", "at least"):
        return DateRange(None, after if way == "at least" else day)
    return DateRange(day if way in ("at most", "no more than") else after, today + timedelta(days=1))


def _ahead(found: re.Match[str], today: date) -> DateRange:
    least, most = _amount(found)
    unit = unit_of(found["unit"])
    return DateRange(unit_range(unit, today, least).start, unit_range(unit, today, most).end)


def _rolling(found: re.Match[str], today: date) -> DateRange:
    _, most = _amount(found)
    length, tomorrow = most * LENGTHS[unit_of(found["unit"])], today + timedelta(days=1)
    if found["which"] in ("next", "coming", "following"):
        return DateRange(tomorrow, tomorrow + length)
    return DateRange(tomorrow - length, tomorrow)


def _so_far(found: re.Match[str], today: date) -> DateRange:
    whole = unit_range(unit_of(found["unit"]), today)
    tomorrow = today + timedelta(days=1)
    return DateRange(tomorrow, whole.end) if found[0].startswith("later") else DateRange(whole.start, tomorrow)


def _weekday(found: re.Match[str], today: date) -> DateRange:
    number = next(at for at, day in enumerate(WEEKDAYS) if day.startswith(found["weekday"][:3]))
    groups = found.groupdict()
    week = groups.get("week") or ""
    if week or groups.get("which") == "this":
        shift = {"last": -1, "next": 1}.get(week, 0)
        monday = unit_range("week", today, shift).start or today
        return unit_range("day", monday + timedelta(days=number))
    behind = (today.weekday() - number) % 7
    shift = {"last": -(behind or 7), "past": -(behind or 7), "next": 7 - behind, "coming": 7 - behind}.get(
        groups.get("which") or "", -behind
    )
    return unit_range("day", today, shift)


_UNIT = rf"(?P<unit>(?:{UNITS})s?|halves)"
_RULES: tuple[tuple[str, Callable[[re.Match[str], date], DateRange]], ...] = (
    (r"(?:yesterday|today|tomorrow|this) (?:morning|afternoon|evening)", _days),
    (r"day before yesterday|yesterday|last night|today|tonight|now|tomorrow|day after tomorrow", _days),
    (rf"(?P<which>last|previous|this|current|next|following) {_UNIT}", _shifted),
    (rf"{_UNIT} (?P<way>before last|after next)", _twice_shifted),
    (rf"{_AMOUNT}{_UNIT} ago", _ago),
    (rf"(?P<way>more than|over|at least|less than|under|at most|no more than) {_AMOUNT}{_UNIT} ago", _bounded_ago),
    (rf"{_AMOUNT}{_UNIT} (?:from now|from today|ahead)", _ahead),
    (rf"in {_AMOUNT}{_UNIT}(?:'s?)?(?: time)?", _ahead),
    (rf"(?P<which>last|past|previous|next|coming|following) {_AMOUNT}{_UNIT}", _rolling),
    (rf"(?P<which>past|coming) (?P<n>)(?P<vague>){_UNIT}", _rolling),
    (rf"(?:earlier|later|so far) this {_UNIT}", _so_far),
    (rf"{_UNIT} (?:to date|so far)", _so_far),
    (rf"(?:(?P<which>last|past|this|next|coming) )?{_WEEKDAY}", _weekday),
    (rf"{_WEEKDAY} (?:of )?(?P<week>last|this|next) week", _weekday),
)
