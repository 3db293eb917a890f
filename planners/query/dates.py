"""Date expressions: where they stand in a text, and the half-open range of days that each means against a given today.

Points in time ("March 5", "Feb 2026", "01/15/2026": the month first) are read by dateparser, spans by the table ``_SPANS``. A month,
weekday, day or season without a year is its last occurrence that has begun; seasons are those of the north, in whole months. The
operators are those of a query graph: ``=`` lies in the range, ``<`` before it begins, ``>`` from its beginning on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from dateutil.easter import easter  # type: ignore[import-untyped]
from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]

from ontology.errors import InvalidArgumentError
from ontology.names import NUMBER_WORDS, WORDED_NUMBER, number_of, ordinal_of

__all__ = ["MONTHS", "DateOperator", "DateRange", "DateReading", "DateSpan", "date_spans", "read_range"]

DateOperator: TypeAlias = Literal["=", "<", ">"]

MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MAX_CHARS = 120
_DAY = timedelta(days=1)
_LENGTHS = {
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
_MONTHS_OF = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 12}
_UNITS = "|".join(_LENGTHS)
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


class DateReading(NamedTuple):
    """How a date expression was read; ``said`` is the reading as a sentence, with what was assumed."""

    range: DateRange
    said: str


def _unit(word: str, day: date, shift: int = 0) -> DateRange:
    """The unit that holds a day, or the one that many units later; a weekend is Saturday and Sunday of the day's week.

    :raises ValueError, OverflowError: outside the years 1 to 9999.
    """
    unit = word.rstrip("s") if word not in ("half", "halves") else "half"
    start = day - timedelta(days=day.weekday())
    if unit in _MONTHS_OF:
        year = day.year - day.year % 10 if unit == "decade" else day.year
        months = _MONTHS_OF[unit]
        start = date(year, (day.month - 1) // months * months + 1, 1)
    elif unit in ("day", "weekend"):
        start = day if unit == "day" else start + 5 * _DAY
    start += shift * _LENGTHS[unit]
    return DateRange(start, start + (2 * _DAY if unit == "weekend" else _LENGTHS[unit]))


def _length(word: str) -> relativedelta:
    return _LENGTHS[word.rstrip("s") if word not in ("half", "halves") else "half"]


# Spans. Each reader gets the match and today; text is in lower case, without a preposition or an article at its start.

_VAGUE = {"couple": (2, 3), "couple of": (2, 3), "few": (3, 5), "several": (3, 7)}
_SHIFTS = {"last": -1, "past": -1, "previous": -1, "next": 1, "following": 1, "coming": 1}
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


def _amount(found: re.Match[str]) -> tuple[int, int]:
    if found["vague"]:
        return _VAGUE[found["vague"]]
    number = found["n"] or ""
    exact = 1 if number in ("", "a", "an") else int(number_of(number) or 0)
    return exact, exact


def _day_by_name(found: re.Match[str], today: date) -> DateRange:
    words = {"day before yesterday": -2, "day after tomorrow": 2, "last night": -1}
    first = {"yesterday": -1, "tomorrow": 1}.get(found[0].split()[0], 0)
    return _unit("day", today, words.get(found[0], first))


def _shifted(found: re.Match[str], today: date) -> DateRange:
    shift = 2 * _SHIFTS[found["way"].split()[-1]] if found["way"] else _SHIFTS.get(found["which"], 0)
    return _unit(found["unit"], today, shift)


def _away(found: re.Match[str], today: date) -> DateRange:
    least, most = _amount(found)
    if found[0].endswith("ago"):
        least, most = -most, -least
    return DateRange(_unit(found["unit"], today, least).start, _unit(found["unit"], today, most).end)


def _bounded_ago(found: re.Match[str], today: date) -> DateRange:
    """Before or after the day that lies so far back: "more than 2 weeks ago", "at most a month ago"."""
    least, most = _amount(found)
    if least != most:
        raise ValueError("it is not known from which day on")
    day, way = today - most * _length(found["unit"]), found["way"]
    if way in ("more than", "over", "at least"):
        return DateRange(None, day + _DAY if way == "at least" else day)
    return DateRange(day if way in ("at most", "no more than") else day + _DAY, today + _DAY)


def _rolling(found: re.Match[str], today: date) -> DateRange:
    length, tomorrow = _amount(found)[1] * _length(found["unit"]), today + _DAY
    if found["which"] in ("next", "coming", "following"):
        return DateRange(tomorrow, tomorrow + length)
    return DateRange(tomorrow - length, tomorrow)


def _so_far(found: re.Match[str], today: date) -> DateRange:
    whole, tomorrow = _unit(found["unit"], today), today + _DAY
    return DateRange(tomorrow, whole.end) if found[0].startswith("later") else DateRange(whole.start, tomorrow)


def _weekday(found: re.Match[str], today: date) -> DateRange:
    number = next(at for at, day in enumerate(WEEKDAYS) if day.startswith(found["weekday"][:3]))
    if found["week"] or found["which"] == "this":
        monday = _unit("week", today, _SHIFTS.get(found["week"] or "", 0)).start or today
        return _unit("day", monday + number * _DAY)
    behind = (today.weekday() - number) % 7
    shift = {"last": -(behind or 7), "past": -(behind or 7), "next": 7 - behind, "coming": 7 - behind}
    return _unit("day", today, shift.get(found["which"] or "", -behind))


def _year(found: re.Match[str], today: date, begins: Callable[[int], date]) -> int:
    """The year that an expression names, else the last one in which it has begun."""
    if found["year"]:
        return int(found["year"])
    if found["rel"]:
        return today.year + _SHIFTS.get(found["rel"], 0)
    return today.year - (begins(today.year) > today)


def _months(found: re.Match[str], today: date, month: int, length: int) -> DateRange:
    year = _year(found, today, lambda each: date(each, month, 1))
    return DateRange(date(year, month, 1), _unit("month", date(year, month, 1), length - 1).end)


def _part_of_year(found: re.Match[str], today: date) -> DateRange:
    length = 6 if found[0].startswith("h") or " half" in found[0] else 3
    last = 12 // length
    number = int(found["digit"]) if found["digit"] else ordinal_of(found["nth"]) or last
    return _months(found, today, length * (number - 1) + 1, length)


def _season(found: re.Match[str], today: date) -> DateRange:
    which, month = found["before"], _SEASONS[found["season"]]
    season = _months(found, today, month, 3)
    if found["year"] or found["rel"] or not which or season.start is None:
        return season
    if which in ("last", "past", "previous") and today in season:
        return _months(found, season.start - _DAY, month, 3)
    if which in ("next", "coming") or (which == "this" and today not in season):
        return DateRange(*(end and end.replace(year=end.year + 1) for end in (season.start, season.end)))
    return season


def _weekend(found: re.Match[str], today: date) -> DateRange:
    if found["of"]:
        return _unit("weekend", _one_day(found["of"], today))
    weekend = _unit("weekend", today)
    return weekend if weekend.start and weekend.start <= today else _unit("weekend", today, -1)


def _one_day(text: str, today: date) -> date:
    found = _inner(text, today)
    if found.start is None or found.end != found.start + _DAY:
        raise ValueError(f"{text!r} is more than one day, so it is not known which week is meant")
    return found.start


def _week_number(found: re.Match[str], today: date) -> DateRange:
    number = int(found["number"])
    year = _year(found, today, lambda each: date.fromisocalendar(each, number, 1))
    return _unit("week", date.fromisocalendar(year, number, 1))


def _decade(found: re.Match[str], today: date) -> DateRange:
    digits = found["decade"]
    year = int(digits) if len(digits) == 4 else today.year // 100 * 100 + int(digits)
    return _unit("decade", date(year if year <= today.year else year - 100, 1, 1))


def _holiday(found: re.Match[str], today: date) -> DateRange:
    def day(year: int) -> date:
        return easter(year) if found["holiday"].startswith("easter") else date(year, *_HOLIDAYS[found["holiday"]])

    return _unit("day", day(_year(found, today, day)))


def _third(found: re.Match[str], today: date) -> DateRange:
    """A third of a period: in whole months where it has three or more."""
    whole = _inner(found["whole"], today)
    if whole.start is None or whole.end is None:
        raise ValueError("a part of a range without an end")
    months = (whole.end.year - whole.start.year) * 12 + whole.end.month - whole.start.month
    if months >= 3:
        first, second = (_unit("month", whole.start, months * part // 3).start for part in (1, 2))
    else:
        first, second = (whole.start + (whole.end - whole.start) * part // 3 for part in (1, 2))
    if found["part"] in ("early", "beginning of", "start of"):
        return DateRange(whole.start, first)
    return DateRange(first, second) if found["part"] in ("mid", "middle of") else DateRange(second, whole.end)


def _of_year(found: re.Match[str], today: date) -> DateRange:
    """ "May of last year"."""
    return _inner(f"{found['x']} {today.year + _SHIFTS.get(found['rel'], 0)}", today)


def _occurrence(found: re.Match[str], today: date) -> DateRange | None:
    """The month or day before, of or after this year: last and next leave out the one that is running."""
    text, which = found["x"], found["which"]
    last = _point(text, today)
    if last is None or last.start is None:
        return None
    if (which == "last" and today not in last) or (which == "this" and last.start.year == today.year):
        return last
    return _point(f"{text} {last.start.year + (-1 if which == 'last' else 1)}", today)


_AMOUNT = rf"(?:(?P<n>[0-9]{{1,4}}|{WORDED_NUMBER}|an?) |(?:a )?(?P<vague>couple of|couple|few|several) )"
_WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAYS)}|{'|'.join(day[:3] for day in WEEKDAYS)}|tues|weds|thur|thurs)"
_UNIT = rf"(?P<unit>(?:{_UNITS})s?|halves)"
_YEAR = r"(?:,? (?:of |in )?(?P<year>\d{4})(?:[/-]\d{2,4})?|(?: of| in)? (?P<rel>last|this|next|the same|that) year)?"
_NTH_PART = r"first|second|third|fourth|last|1st|2nd|3rd|4th"
_SPANS: tuple[tuple[str, Callable[[re.Match[str], date], DateRange | None]], ...] = (
    (r"(?:yesterday|today|tomorrow|this) (?:morning|afternoon|evening)", _day_by_name),
    (r"day before yesterday|yesterday|last night|today|tonight|now|tomorrow|day after tomorrow", _day_by_name),
    (rf"(?P<which>last|previous|this|current|next|following) {_UNIT}(?P<way>)", _shifted),
    (rf"(?P<which>){_UNIT} (?P<way>before last|after next)", _shifted),
    (rf"{_AMOUNT}{_UNIT} (?:ago|from now|from today|ahead)", _away),
    (rf"in {_AMOUNT}{_UNIT}(?:'s?)?(?: time)?", _away),
    (rf"(?P<way>more than|over|at least|less than|under|at most|no more than) {_AMOUNT}{_UNIT} ago", _bounded_ago),
    (rf"(?P<which>last|past|previous|next|coming|following) {_AMOUNT}{_UNIT}", _rolling),
    (rf"(?P<which>past|coming) (?P<n>)(?P<vague>){_UNIT}", _rolling),
    (rf"(?:earlier|later|so far) this {_UNIT}", _so_far),
    (rf"{_UNIT} (?:to date|so far)", _so_far),
    (rf"(?:(?P<which>last|past|this|next|coming) )?{_WEEKDAY}(?: (?:of )?(?P<week>last|this|next) week)?", _weekday),
    (rf"(?:q(?P<digit>[1-4])|(?P<nth>{_NTH_PART}) quarter){_YEAR}", _part_of_year),
    (r"(?P<year>\d{4})[ -/]?q(?P<digit>[1-4])(?P<nth>)(?P<rel>)", _part_of_year),
    (rf"(?:h(?P<digit>[12])|(?P<nth>first|second|last|1st|2nd) half){_YEAR}", _part_of_year),
    (rf"(?:(?P<before>last|past|previous|this|next|coming) )?(?P<season>{'|'.join(_SEASONS)}){_YEAR}", _season),
    (r"weekend(?: (?:of|around) (?P<of>.+))?", _weekend),
    (
        r"week (?:of|beginning|starting|commencing) (?P<of>.+)",
        lambda found, today: _unit("week", _one_day(found["of"], today)),
    ),
    (r"(?:calendar )?week (?P<number>\d\d?)(?:(?: of|,)? (?P<year>\d{4}))?(?P<rel>)", _week_number),
    (r"(?P<year>\d{4})-w(?P<number>\d\d)", _week_number),
    (r"'?(?P<decade>\d{3}0|\d0)'?s", _decade),
    (rf"(?P<holiday>{'|'.join(sorted(_HOLIDAYS, key=len, reverse=True))}|easter(?: sunday)?){_YEAR}", _holiday),
    (r"(?P<part>early|beginning of|start of|mid|middle of|late|end of)[ -](?P<whole>.+)", _third),
    (r"(?!(?:\w+ )?the )(?P<x>.+?),? (?:of |in )?(?P<rel>last|this|next) year", _of_year),
    (rf"(?P<which>last|this|next) (?P<x>(?:{MONTHS})(?: \d\d?)?)", _occurrence),
)

# Points in time. dateparser leaves out what it does not understand ("Friday the 13th", "Monday in May"): only these shapes are given to it.

_MONTH = rf"(?:{MONTHS}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?"
_DAY_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])"
_NTH = rf"{_DAY_NUMBER}(?:st|nd|rd|th)?"
_CLOCK = r"(?:(?:t|,? (?:at )?)(?:\d\d?:\d\d(?::\d\d)?(?: ?[ap]m)?|\d\d? ?[ap]m))?"
_WEEKDAY_NAME = "|".join(f"{day[:3]}(?:{day[3:]})?" for day in WEEKDAYS)
_POINTS = tuple(
    re.compile(shape + _CLOCK)
    for shape in (
        rf"(?:(?P<weekday>{_WEEKDAY_NAME}),? (?:the )?)?(?:{_NTH}\.?(?: of)? {_MONTH}(?:,?(?: of| in)? \d{{4}}|,? \d\d)?"
        rf"|{_MONTH},?(?: the)? {_NTH}(?:,?(?: of)? \d{{4}})?)",
        rf"{_MONTH}(?:,?(?: of| in)? \d{{4}})?",
        rf"\d{{4}}(?P<dash>[-/.])(?:0?[1-9]|1[0-2])(?P=dash){_DAY_NUMBER}",
        rf"{_DAY_NUMBER}(?P<mark>[-/.]){_DAY_NUMBER}(?P=mark)(?:\d\d|\d{{4}})",
        r"\d{4}[-/](?:0?[1-9]|1[0-2])|(?:0?[1-9]|1[0-2])/\d{4}|(?:19|20)\d\d",
    )
)


@lru_cache(maxsize=4_096)
def _point(text: str, today: date) -> DateRange | None:
    """A day, month or year."""
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
    return _unit(found.period if found.period in ("day", "month", "year") else "day", day)


_RELATIVE = re.compile(
    r"\b(?:last|past|previous|this|current|next|coming|following|ago|today|tonight|yesterday|tomorrow|now|so far|to date)\b"
)
_NAMES_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)|(?<!\d)\d{1,2}[./-]\d{1,2}[./-]\d{2}(?!\d)|\bq[1-4]\b.*'\d\d")
_LEAD = re.compile(
    r"^(?:(?:in|on|at|during|over|throughout|within|for|of|from|around|sometime in|the|this past|dated)\s+)+(?=\S)"
)
_BEFORE = re.compile(r"^(?:(?:strictly )?before|prior to|earlier than|older than|by the start of)\s+(?P<x>.+)$")
_THROUGH = re.compile(
    r"^(?:until|till|up to|up until|through|by|no later than|not later than|not after|to)\s+(?P<x>.+)$"
)
_SINCE = re.compile(
    r"^(?!from )(?:since|after|later than|newer than|(?:no|not) (?:earlier|sooner) than|not before"
    r"|starting(?: in| on| from)?|beginning(?: in| on| from)?|as of)\s+"
    r"(?P<x>.+?)(?:,? (?:on|onwards?|on ?wards?|or later|and later))?$"
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
_ISO_INTERVAL = re.compile(r"(?:\d{4}-\d\d-\d\d|\.\.|) ?/ ?(?:\d{4}-\d\d-\d\d|\.\.|)")
_HOW = 'Write it as "on 3 May 2025", "last week", "before July 2025", "from 5 to 7 May 2025" or "2025-01-01/2025-02-01"'


def read_range(expression: str, today: date, op: DateOperator = "=") -> DateReading:
    """Read a date expression under an operator of the query graph.

    :param expression: as written in a request ("in February", "before July 2025"), or an ISO interval ``start/end``.
    :raises InvalidArgumentError: when the expression is no date, and when it contradicts the operator.
    """
    text = " ".join(expression.casefold().replace("’", "'").split())
    text = re.sub(r"(?<=[a-z\d]) ?'(\d\d)\b", lambda found: f" {20 if int(found[1]) < 70 else 19}{found[1]}", text)
    if not text or len(text) > _MAX_CHARS:
        raise InvalidArgumentError(
            "a date expression has 1 to 120 characters", subject=expression[:_MAX_CHARS], remedy="Shorten it"
        )
    text = text.rstrip(".?!,")
    try:
        found = DateRange.from_iso(text) if _ISO_INTERVAL.fullmatch(text) else _ends(text, today)
        if found is None:
            raise ValueError("no date was found in it")
        applied = _apply(found, op, text)
    except (ValueError, OverflowError) as error:
        raise InvalidArgumentError(
            f"not a date expression: {error}", subject=expression[:_MAX_CHARS], remedy=_HOW
        ) from error
    assumed = not (_RELATIVE.search(text) or _NAMES_YEAR.search(text) or re.search(r"\bfrom now\b|\bahead\b", text))
    return DateReading(applied, _sentence(expression, applied, assumed=assumed))


def _sentence(expression: str, found: DateRange, *, assumed: bool) -> str:
    last = found.end - _DAY if found.end else None
    if found.start and last:
        days = f"{found.start}" if found.start == last else f"{found.start} to {last}"
    else:
        days = f"{found.start} and after" if found.start else f"before {found.end}"
    why = ", its last occurrence, since it names no year" if assumed and (found.start or found.end) else ""
    return f'"{expression}" is read as {days}{why}.'


def _apply(found: DateRange, op: DateOperator, text: str) -> DateRange:
    """The days that meet an operator; before "the end of 2024" is before that end, not before the last third of the year."""
    if op == "=" or (op == "<" and found.start is None):
        return found
    if found.start is None:
        raise ValueError("it has no beginning from which on something could be")
    if op == ">":
        return DateRange(found.start, None)
    if found.end is None:
        raise ValueError("it has no beginning before which something could be")
    return DateRange(None, found.end if _at_end(text) else found.start)


def _at_end(text: str) -> bool:
    return re.match(r"(?:the )?end of ", text) is not None


def _ends(text: str, today: date) -> DateRange | None:
    for pattern in _BETWEEN:
        if found := pattern.match(text):
            last = " ".join(filter(None, (found.groupdict().get("month"), found["b"])))  # "May 5 to 7, 2025"
            if both := _between(found["a"], last, today):
                return both
    if found := _ONWARD.match(text) or _SINCE.match(text):
        inner = _period(next(filter(None, found.groups())), today)
        return inner and DateRange(inner.start, None)
    if found := _BEFORE.match(text):
        inner = _period(found["x"], today)
        return inner and DateRange(None, inner.end if _at_end(found["x"]) else inner.start)
    if found := _THROUGH.match(text):
        inner = _period(found["x"], today)
        return inner and DateRange(None, inner.end)
    return _period(text, today)


def _period(text: str, today: date) -> DateRange | None:
    """An expression without "before", "since" or two ends."""
    bare = _LEAD.sub("", text).strip(" ,.")
    for form in dict.fromkeys((text, bare)):
        for pattern, read in _SPANS:
            if found := re.fullmatch(pattern, form):
                return read(found, today)
    return _point(bare, today)


def _inner(text: str, today: date) -> DateRange:
    found = _period(text, today)
    if found is None:
        raise ValueError(f"no date was found in {text!r}")
    return found


def _between(first: str, second: str, today: date) -> DateRange | None:
    """From the start of one date to the end of another; one without a year precedes or follows the other."""
    last = _period(second, today)
    if last is None or last.start is None or last.end is None:
        return None
    if bare := re.fullmatch(r"(?:the )?(\d\d?)(?:st|nd|rd|th)?", first):
        day = last.start.replace(day=int(bare[1]))
        if last.end != last.start + _DAY or day > last.start:
            raise ValueError("a number alone is a day before the other one, in its month")
        return DateRange(day, last.end)
    fixed = _RELATIVE.search(first) or _NAMES_YEAR.search(first)
    begin = _period(first, today if fixed else last.start)
    if begin is None or begin.start is None:
        return None
    if begin.start >= last.end and not (_RELATIVE.search(second) or _NAMES_YEAR.search(second)):
        # "between last Monday and Friday": the first Friday after that Monday, not the last one before today.
        ahead = 7 if re.search(rf"\b(?:{'|'.join(WEEKDAYS)})\b", second) else 365
        last = _period(second, begin.start + timedelta(days=ahead)) or last
    if last.end is None or begin.start >= last.end:
        raise ValueError("it ends before it begins")
    return DateRange(begin.start, last.end)


# Where date expressions stand in a request.

_PREPOSITIONS = "in on at during over within before after since until till by from between through throughout around prior earlier later than"
_OTHER = "to the of and a an this last past previous next current coming couple few several early late mid beginning start end middle half no not more less least most under sooner " \
    "first second third fourth 1st 2nd 3rd 4th ago now so far onward onwards whole up or sometime calendar ahead"  # fmt: skip
_CORE = re.compile(
    rf"(?:{MONTHS}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|{'|'.join(WEEKDAYS)}|(?:{_UNITS})s?|today|yesterday|tomorrow|tonight"
    r"|morning|evening|night|spring|summer|autumn|winter|christmas|easter|halloween|q[1-4]|(?:19|20)\d\d|\d{4}-\d\d(?:-\d\d)?|\d{4}-[wq]\d+"
    r"|mid-[a-z]+|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{1,2}/\d{4}|(?:19|20)\d0s|\d{4}[–-]\d{4}|\d{4}-\d\d-\d\d/\S+)"
)
_VOCABULARY = {*_PREPOSITIONS.split(), *_OTHER.split(), *NUMBER_WORDS}
_NO_END = {*_PREPOSITIONS.split(), "to", "the", "of", "and", "a", "an", "or"} - {"on"}
_NUMBER = re.compile(rf"\d{{1,4}}(?:st|nd|rd|th)?|{WORDED_NUMBER}")
_BARE = re.compile(
    rf"(?:the )?(?:(?:19|20)\d\d|(?:{_UNITS})s?|night|morning|evening|end|may|mar|sat|sun|sept?|dec)", re.IGNORECASE
)
_MAX_WORDS = 10
_UNREAD = rf"\b(?:{'|'.join(WEEKDAYS)}|(?:{_UNITS})s?)\b"
_BESIDE = re.compile(
    rf"(?:\b(?:{'|'.join(sorted(filter(str.isalnum, _VOCABULARY)))}|(?:{_UNITS})s?|{'|'.join(WEEKDAYS)}|\d+(?:st|nd|rd|th)?) )*$"
)
_CHANGED = re.compile(r"\b(?:every|each|other|alternate|except|half|almost|nearly)(?: the)? $", re.IGNORECASE)
_FOLLOWED = re.compile(r" (?:the )?\d{1,2}(?:st|nd|rd|th)\b")
_WHOLLY_UNREAD = re.compile(
    rf"{_UNREAD} (?:of|in|before|after|from) (?:the )?(?:{MONTHS}|{'|'.join(WEEKDAYS)})\b", re.IGNORECASE
)
_JOINED = re.compile(r" (?:of |in )?(?:the )?")
_OPERATORS: tuple[tuple[str, DateOperator], ...] = (
    (r"(?:strictly )?before\b|prior to\b|earlier than\b", "<"),
    (r"since\b|after\b|later than\b|.* (?:onwards?|or later)$|from .* on$", ">"),
)


class DateSpan(NamedTuple):
    """A date expression in a text: its characters, the expression as written, and the operator that its words say."""

    start: int
    end: int
    text: str
    op: DateOperator


def date_spans(text: str, today: date) -> list[DateSpan]:
    """Return the date expressions of a text, in order, the longest readable ones first from the left.

    :raises InvalidArgumentError: where only a part of an expression can be read ("the second Tuesday of May"): it would mean other days.
    """
    words = [(found.start(), found.end()) for found in re.finditer(r"[^\s,;?!()\"“”]+", text)]
    words = [(start, end - (text[end - 1] == ".")) for start, end in words]
    found: list[DateSpan] = []
    at = 0
    while at < len(words):
        stops = range(min(len(words), at + _MAX_WORDS), at, -1)
        span = next((span for stop in stops if (span := _span(text, words[at:stop], today))), None)
        if span:
            found.append(span)
            at = next((number for number, (start, _) in enumerate(words) if start >= span.end), len(words))
        else:
            at += 1
    left = text
    for number, span in enumerate(found):
        _refuse_a_part(text, span, found[number - 1] if number else None)
        left = left[: span.start] + "." * len(span.text) + left[span.end :]
    if unread := _WHOLLY_UNREAD.search(left):
        raise _refused(unread[0], "it cannot be read")
    return found


def _refuse_a_part(text: str, span: DateSpan, last: DateSpan | None) -> None:
    """Refuse a span that stands beside words of dates which are not read with it."""
    before = text[last.end if last else 0 : span.start]
    near = _BESIDE.search(before)
    unread = near and re.search(_UNREAD, near[0])
    if unread or _CHANGED.search(before) or (last and _JOINED.fullmatch(before)) or _FOLLOWED.match(text[span.end :]):
        start = span.start - len(near[0]) if near and unread else last.start if last else span.start
        raise _refused(text[start : span.end], f"only a part of it can be read: {span.text!r}")


def _refused(part: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"not a date expression: {why}", subject=part, remedy=_HOW)


def _span(text: str, words: list[tuple[int, int]], today: date) -> DateSpan | None:
    start, end = words[0][0], words[-1][1]
    parts = [text[a:b].casefold() for a, b in words]
    known = all(part in _VOCABULARY or _NUMBER.fullmatch(part) or _CORE.fullmatch(part) for part in parts)
    if not known or not any(map(_CORE.fullmatch, parts)) or parts[0] in ("and", "to", "or", "of", "a", "an", "than"):
        return None
    if parts[-1] in _NO_END or {text[a:b] for a, b in words} & {"may", "march"}:
        return None
    written = text[start:end]
    following = re.match(r" (?!I\b)[A-Z][a-z]", text[end:])
    if _BARE.fullmatch(written) or (following and not written[-1].isdigit()):
        return None
    op: DateOperator = next((op for pattern, op in _OPERATORS if re.match(pattern, written.casefold())), "=")
    try:
        read_range(written, today, op)
    except InvalidArgumentError:
        return None
    return DateSpan(start, end, written, op)
