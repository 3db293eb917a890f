"""Date expressions → half-open ranges of days against a given today.

The operators are those of the query graph (QueryWeaver, appendix A1.1): ``=`` lies in the range, ``<`` before it begins, ``>`` from its
beginning on. Points in time ("March 5", "Feb 2026", "01/15/2026": the month first) are read by dateparser, what it cannot read by the
rules of this folder. A month, weekday or day without a year is its last occurrence that has begun.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Literal, TypeAlias

from ontology.errors import InvalidArgumentError
from planners.query.dates.calendar_units import unit_range
from planners.query.dates.date_range import DateRange, DateReading
from planners.query.dates.named_periods import named_range
from planners.query.dates.relative_dates import RELATIVE, WEEKDAYS, relative_range

__all__ = ["MONTHS", "DateOperator", "apply_operator", "read_date", "read_range", "sentence"]

DateOperator: TypeAlias = Literal["=", "<", ">"]

MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_MAX_CHARS = 120
_WEEKDAY = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)})\b")
_MONTH = rf"(?:{MONTHS}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_NTH = rf"{_DAY}(?:st|nd|rd|th)?"
_CLOCK = r"(?:(?:t|,? (?:at )?)(?:\d\d?:\d\d(?::\d\d)?(?: ?[ap]m)?|\d\d? ?[ap]m))?"
_WEEKDAY_NAME = "|".join(f"{day[:3]}(?:{day[3:]})?" for day in WEEKDAYS)
# dateparser leaves out what it does not understand ("Friday the 13th", "Monday in May"): only these shapes are given to it.
_POINTS = tuple(
    re.compile(shape + _CLOCK)
    for shape in (
        rf"(?:(?P<weekday>{_WEEKDAY_NAME}),? (?:the )?)?(?:{_NTH}\.?(?: of)? {_MONTH}(?:,?(?: of| in)? \d{{4}}|,? \d\d)?"
        rf"|{_MONTH},?(?: the)? {_NTH}(?:,?(?: of)? \d{{4}})?)",
        rf"{_MONTH}(?:,?(?: of| in)? \d{{4}})?",
        rf"\d{{4}}(?P<dash>[-/.])(?:0?[1-9]|1[0-2])(?P=dash){_DAY}",
        rf"{_DAY}(?P<mark>[-/.]){_DAY}(?P=mark)(?:\d\d|\d{{4}})",
        r"\d{4}[-/](?:0?[1-9]|1[0-2])|(?:0?[1-9]|1[0-2])/\d{4}|(?:19|20)\d\d",
    )
)
_INTERVAL = re.compile(r"(?:\d{4}-\d\d-\d\d|\.\.|) ?/ ?(?:\d{4}-\d\d-\d\d|\.\.|)")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)|(?<!\d)\d{1,2}[./-]\d{1,2}[./-]\d{2}(?!\d)|\bq[1-4]\b.*'\d\d")
_LEAD = re.compile(
    r"^(?:(?:in|on|at|during|over|throughout|within|for|of|from|around|sometime in|the|this past|dated)\s+)+(?=\S)"
)
_BEFORE = re.compile(r"^(?:(?:strictly )?before|prior to|earlier than|older than|by the start of)\s+(?P<x>.+)$")
_THROUGH = re.compile(
    r"^(?:until|till|up to|up until|through|by|no later than|not later than|not after|to)\s+(?P<x>.+)$"
)
_SINCE = re.compile(
    r"^(?:since|after|later than|newer than|(?:no|not) (?:earlier|sooner) than|not before|starting(?: in| on| from)?|beginning(?: in| on| from)?|as of|from)\s+(?P<x>.+?)(?P<on>,? (?:on|onwards?|on ?wards?|or later|and later))?$"
)
_ONWARD = re.compile(r"^(?:from )?(?P<x>.+?),? (?:onwards?|or later|and later|and after)$|^from (?P<y>.+?) on$")
_BETWEEN = (
    re.compile(
        rf"^(?:from |between )?(?P<month>{_MONTH}) (?P<a>{_NTH}) ?(?:-|–|—|to|through|until) ?(?P<b>{_NTH}(?:,? \d{{4}})?)$"
    ),
    re.compile(rf"^(?:from )?(?P<a>{_NTH}) ?[-–—] ?(?P<b>{_NTH} {_MONTH}.*)$"),
    re.compile(r"^between (?P<a>.+?) and (?P<b>.+)$"),
    re.compile(r"^from (?P<a>.+?) (?:to|until|till|through|up to) (?P<b>.+)$"),
    re.compile(r"^(?P<a>.+?) (?:to|through|until|–|—|-) (?P<b>.+)$"),
    re.compile(r"^(?P<a>[a-z]+|\d{4})[–—-](?P<b>[a-z]{3,} ?\d{0,4}|\d{4})$"),
)


def read_range(expression: str, today: date, op: DateOperator = "=") -> DateReading:
    """Read a date expression under an operator of the query graph.

    :param expression: as written in a request ("in February", "before July 2025"), or an ISO interval ``start/end``.
    :raises InvalidArgumentError: when the expression is no date, and when it contradicts the operator.
    """
    text = _normal(expression)
    try:
        found = DateRange.from_iso(text) if _INTERVAL.fullmatch(text) else _read(text, today)
        if found is None:
            raise ValueError("no date was found in it")
        applied = apply_operator(found, op, text)
        said = sentence(expression, applied, assumed=_assumes_year(text, applied))
    except (ValueError, OverflowError) as error:
        raise InvalidArgumentError(
            f"not a date expression: {error}",
            subject=expression[:_MAX_CHARS],
            remedy='Write it as "in February 2025", "last week", "before July 2025", "2025-01-10" or "2025-01-01/2025-02-01"',
        ) from error
    return DateReading(applied, said)


def read_date(text: str, today: date) -> DateRange | None:
    """Read an expression without "before", "since" or two ends; lower case. None for any other.

    :raises ValueError, OverflowError: for a date that the calendar lacks.
    """
    bare = _LEAD.sub("", text).strip(" ,.")

    def inner(part: str) -> DateRange:
        found = read_date(part, today)
        if found is None:
            raise ValueError(f"no date was found in {part!r}")
        return found

    found = relative_range(text, today) or relative_range(bare, today) or named_range(bare, today, inner)
    if found is not None:
        return found
    shifted = re.fullmatch(r"(?P<x>.+?),? (?:of |in )?(?P<which>last|this|next) year", bare)
    if shifted:
        year = today.year + {"last": -1, "this": 0, "next": 1}[shifted["which"]]
        return read_date(f"{shifted['x']} {year}", today)
    which = re.fullmatch(rf"(?P<which>last|this|next) (?P<x>(?:{MONTHS})(?: \d\d?)?)", bare)
    if which:
        return _occurrence(which["x"], which["which"], today)
    return _point(bare, today)


def _occurrence(text: str, which: str, today: date) -> DateRange | None:
    """The month or day before, of or after this year: last and next leave out the one that is running."""
    found = _point(text, today)
    if found is None or found.start is None:
        return None
    running = today in found
    if (which == "last" and not running) or (which == "this" and found.start.year == today.year):
        return found
    year = found.start.year + (-1 if which == "last" else 1)
    return _point(f"{text} {year}", today)


def _normal(expression: str) -> str:
    text = " ".join(expression.casefold().replace("’", "'").split())
    text = re.sub(r"(?<=[a-z\d]) ?'(\d\d)\b", lambda found: f" {_century(found[1])}", text)
    if not text or len(text) > _MAX_CHARS:
        raise InvalidArgumentError(
            "a date expression has 1 to 120 characters", subject=expression[:_MAX_CHARS], remedy="Shorten it"
        )
    return text.rstrip(".?!,")


def _century(digits: str) -> int:
    """The year of two digits: 1970 to 2069, as in POSIX."""
    return int(digits) + (2000 if int(digits) < 70 else 1900)


def _read(text: str, today: date) -> DateRange | None:
    for pattern in _BETWEEN:
        found = pattern.match(text)
        if found is None:
            continue
        last = " ".join(filter(None, (found.groupdict().get("month"), found["b"])))  # "May 5 to 7, 2025"
        if both := _between(found["a"], last, today):
            return both
    onward = _ONWARD.match(text)
    since = _SINCE.match(text) if not text.startswith("from ") else None
    if match := onward or since:
        inner = read_date(next(filter(None, match.groups())), today)
        return inner and DateRange(inner.start, None)
    before = _BEFORE.match(text)
    if before:
        inner = read_date(before["x"], today)
        return inner and DateRange(None, inner.end if _at_end(before["x"]) else inner.start)
    through = _THROUGH.match(text)
    if through:
        inner = read_date(through["x"], today)
        return inner and DateRange(None, inner.end)
    return read_date(text, today)


def _between(first: str, second: str, today: date) -> DateRange | None:
    """From the start of one date to the end of another; one without a year precedes or follows the other."""
    last = read_date(second, today)
    if last is None or last.start is None:
        return None
    relative = RELATIVE.search(first) or _YEAR.search(first)
    bare = re.fullmatch(r"(?:the )?(\d\d?)(?:st|nd|rd|th)?", first)
    if bare:
        day = last.start.replace(day=int(bare[1]))
        if last.end != last.start + timedelta(days=1) or day > last.start:
            raise ValueError("a number alone is a day before the other one, in its month")
        return DateRange(day, last.end)
    begin = read_date(first, today if relative else last.start)
    if begin is None or begin.start is None or last.end is None:
        return None
    if begin.start >= last.end and not (RELATIVE.search(second) or _YEAR.search(second)):
        # "between last Monday and Friday": the first Friday after that Monday, not the last one before today.
        last = read_date(second, begin.start + timedelta(days=7 if _WEEKDAY.search(second) else 365)) or last
    if last.end is None or begin.start >= last.end:
        raise ValueError("it ends before it begins")
    return DateRange(begin.start, last.end)


def apply_operator(found: DateRange, op: DateOperator, text: str) -> DateRange:
    """The days that meet an operator.

    :param text: the expression.
    :raises ValueError: when the range has no beginning that the operator needs.
    """
    if op == "=":
        return found
    if op == "<":
        if found.start is None:
            return found
        if found.end is None:
            raise ValueError("it has no beginning before which something could be")
        return DateRange(None, found.end if _at_end(text) else found.start)
    if found.start is None:
        raise ValueError("it has no beginning from which on something could be")
    return DateRange(found.start, None)


def _at_end(text: str) -> bool:
    """Before "the end of 2024" is before that end, not before the last third of the year."""
    return re.match(r"(?:the )?end of ", text) is not None


@lru_cache(maxsize=4_096)
def _point(text: str, today: date) -> DateRange | None:
    """A day, month or year by dateparser."""
    from dateparser.date import DateDataParser

    shape = next(filter(None, (each.fullmatch(text) for each in _POINTS)), None)
    if shape is None:
        return None
    groups = shape.groupdict()
    settings = {
        "RELATIVE_BASE": datetime(today.year, today.month, today.day),
        "PREFER_DATES_FROM": "past",
        "PREFER_DAY_OF_MONTH": "first",
        "PREFER_MONTH_OF_YEAR": "first",
        "DATE_ORDER": "DMY" if groups.get("mark") == "." else "MDY",
    }
    found = DateDataParser(languages=["en"], settings=settings).get_date_data(re.sub(r"\bof\b|,", " ", text))
    if found.date_obj is None:
        return None
    day: date = found.date_obj.date()
    if groups.get("weekday") and not f"{day:%A}".casefold().startswith(groups["weekday"][:3]):
        raise ValueError(f"{day} is a {day:%A}")
    return unit_range(found.period if found.period in ("day", "month", "year") else "day", day)


def _assumes_year(text: str, found: DateRange) -> bool:
    return not (RELATIVE.search(text) or _YEAR.search(text) or re.search(r"\b(?:ago|from now|ahead)\b", text)) and bool(
        found.start or found.end
    )


def sentence(expression: str, found: DateRange, *, assumed: bool = False) -> str:
    """The reading of an expression as a sentence.

    :param assumed: whether it names no year.
    """
    last = found.end - timedelta(days=1) if found.end else None
    if found.start and last:
        days = f"{found.start}" if found.start == last else f"{found.start} to {last}"
    else:
        days = f"{found.start} and after" if found.start else f"before {found.end}"
    why = ", its last occurrence, since it names no year" if assumed else ""
    return f'"{expression}" is read as {days}{why}.'
