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

from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]

from ontology.errors import InvalidArgumentError
from planners.query.numbers import NUMBER_WORDS, WORDED_NUMBER, number_of, ordinal_of

DateOperator: TypeAlias = Literal["=", "<", ">"]

MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MAX_CHARS = 120
_DAY = timedelta(days=1)
_LENGTHS = {
    "day": relativedelta(days=1),
    "week": relativedelta(weeks=1),
    "weekend": relativedelta(weeks=1),
    "month": relativedelta(months=1),
    "quarter": relativedelta(months=3),
    "year": relativedelta(years=1),
}
_MONTHS_OF = {"month": 1, "quarter": 3, "year": 12}
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
        """Read ``start/end``; raises ValueError for another text, and for a range that ends before it begins."""
        start, end = (None if each in ("", _OPEN) else date.fromisoformat(each) for each in text.split("/"))
        if start and end and end <= start:
            raise ValueError(f"the interval {text} ends before it begins")
        return cls(start, end)


class DateReading(NamedTuple):
    """How a date expression was read; ``said`` is the reading as a sentence, with what was assumed."""

    range: DateRange
    said: str


def _unit(word: str, day: date, shift: int = 0) -> DateRange:
    """The unit that holds a day, or the one that many units later; a weekend is Saturday and Sunday of the day's week.
    Raises ValueError or OverflowError outside the years 1 to 9999."""
    unit, start = word.removesuffix("s"), day
    if unit in _MONTHS_OF:
        months = _MONTHS_OF[unit]
        start = date(day.year, (day.month - 1) // months * months + 1, 1)
    elif unit != "day":
        start = day + (5 * (unit == "weekend") - day.weekday()) * _DAY
    start += shift * _LENGTHS[unit]
    return DateRange(start, start + (2 * _DAY if unit == "weekend" else _LENGTHS[unit]))


# Spans. Each reader gets the match and today; the text is in lower case.

_DAYS = {"today": 0, "tonight": 0, "now": 0, "tomorrow": 1, "yesterday": -1, "last night": -1}
_DAYS |= {"day before yesterday": -2, "day after tomorrow": 2}
_VAGUE = {"couple of": (2, 3), "couple": (2, 3), "few": (3, 5), "several": (3, 7)}
_SHIFTS = {"last": -1, "past": -1, "previous": -1, "next": 1, "following": 1, "coming": 1}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def _amount(found: re.Match[str]) -> tuple[int, int]:
    """The least and the greatest number that are meant."""
    if found["vague"]:
        return _VAGUE[found["vague"]]
    exact = 1 if found["n"] in ("a", "an", "") else int(number_of(found["n"]) or 0)
    return exact, exact


def _shifted(found: re.Match[str], today: date) -> DateRange:
    far = {"before last": -2, "after next": 2}
    return _unit(found["unit"], today, far.get(found["way"]) or _SHIFTS.get(found["which"], 0))


def _away(found: re.Match[str], today: date) -> DateRange:
    least, most = _amount(found)
    if found[0].endswith("ago"):
        least, most = -most, -least
    return DateRange(_unit(found["unit"], today, least).start, _unit(found["unit"], today, most).end)


def _rolling(found: re.Match[str], today: date) -> DateRange:
    length, tomorrow = _amount(found)[1] * _LENGTHS[found["unit"].removesuffix("s")], today + _DAY
    if _SHIFTS[found["which"]] > 0:
        return DateRange(tomorrow, tomorrow + length)
    return DateRange(tomorrow - length, tomorrow)


def _weekday(found: re.Match[str], today: date) -> DateRange:
    number = next(at for at, day in enumerate(_WEEKDAYS) if day.startswith(found["weekday"][:3]))
    if found["which"] == "this":
        return _unit("day", today + (number - today.weekday()) * _DAY)
    behind = (today.weekday() - number) % 7
    shift = {"last": -(behind or 7), "next": 7 - behind}
    return _unit("day", today, shift.get(found["which"], -behind))


def _begun(found: re.Match[str], month: int, today: date) -> int:
    """The year that an expression names, else the last one in which it has begun."""
    return int(found["year"]) if found["year"] else today.year - (date(today.year, month, 1) > today)


def _quarter(found: re.Match[str], today: date) -> DateRange:
    month = 3 * (int(found["digit"]) if found["digit"] else ordinal_of(found["nth"]) or 4) - 2
    return _unit("quarter", date(_begun(found, month, today), month, 1))


def _season(found: re.Match[str], today: date) -> DateRange:
    month = _SEASONS[found["season"]]

    def of(year: int) -> DateRange:
        return DateRange(date(year, month, 1), _unit("month", date(year, month, 1), 2).end)

    year = _begun(found, month, today)
    running = today in of(year)
    shifts = {"last": -int(running), "this": int(not running), "next": 1}
    return of(year if found["year"] else year + shifts.get(found["which"], 0))


def _occurrence(found: re.Match[str], today: date) -> DateRange | None:
    """The month or day before, of or after this year: last and next leave out the one that is running."""
    text, which = found["x"], found["which"]
    last = _point(text, today)
    if last is None or last.start is None:
        return None
    if (which == "last" and today not in last) or (which == "this" and last.start.year == today.year):
        return last
    return _point(f"{text} {last.start.year + (-1 if which == 'last' else 1)}", today)


_UNITS = "|".join(_LENGTHS)
_UNIT = rf"(?P<unit>(?:{_UNITS})s?)"
_AMOUNT = rf"(?:(?P<n>[0-9]{{1,4}}|{WORDED_NUMBER}|an?) |(?:a )?(?P<vague>couple of|couple|few|several) )"
_YEAR = r"(?:,? (?:of |in )?(?P<year>\d{4}))?"
_SPANS: tuple[tuple[str, Callable[[re.Match[str], date], DateRange | None]], ...] = (
    (rf"(?P<day>{'|'.join(_DAYS)})", lambda found, today: _unit("day", today, _DAYS[found["day"]])),
    (rf"(?P<which>last|previous|this|current|next|following) {_UNIT}(?P<way>)", _shifted),
    (rf"(?P<which>){_UNIT} (?P<way>before last|after next)", _shifted),
    (rf"{_AMOUNT}{_UNIT} (?:ago|from now)", _away),
    (rf"in {_AMOUNT}{_UNIT}", _away),
    (rf"(?P<which>last|past|previous|next|coming|following) {_AMOUNT}{_UNIT}", _rolling),
    (rf"(?P<which>past|coming) (?P<n>)(?P<vague>){_UNIT}", _rolling),
    (
        rf"(?:(?P<which>last|this|next) )?(?P<weekday>{'|'.join(_WEEKDAYS)}|mon|tues?|weds?|thurs?|thu|fri|sat|sun)",
        _weekday,
    ),
    (rf"(?:q(?P<digit>[1-4])|(?P<nth>first|second|third|fourth|last|1st|2nd|3rd|4th) quarter){_YEAR}", _quarter),
    (r"(?P<year>\d{4})[ -]?q(?P<digit>[1-4])(?P<nth>)", _quarter),
    (rf"(?:(?P<which>last|this|next) )?(?P<season>{'|'.join(_SEASONS)}){_YEAR}", _season),
    (r"weekend", lambda found, today: _unit("weekend", today, -(today.weekday() < 5))),
    (
        r"(?P<x>.+?),? (?:of |in )?(?P<rel>last|this|next) year",  # "May of last year"
        lambda found, today: _period(f"{found['x']} {today.year + _SHIFTS.get(found['rel'], 0)}", today),
    ),
    (rf"(?P<which>last|this|next) (?P<x>(?:{MONTHS})(?: \d\d?)?)", _occurrence),
)

# Points in time. dateparser leaves out what it does not understand ("Friday the 13th", "Monday in May"): only these shapes are given to it.

_MONTH = rf"(?:{MONTHS}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?"
_DAY_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])"
_NTH = rf"{_DAY_NUMBER}(?:st|nd|rd|th)?"
_WEEKDAY_NAME = "|".join(f"{day[:3]}(?:{day[3:]})?" for day in _WEEKDAYS)
_POINT = re.compile(
    rf"(?:(?P<weekday>{_WEEKDAY_NAME}),? (?:the )?)?(?:{_NTH}(?: of)? {_MONTH}|{_MONTH}(?: the)? {_NTH})(?:,?(?: of)? \d{{4}})?"
    rf"|{_MONTH}(?:,?(?: of| in)? \d{{4}})?"
    rf"|\d{{4}}-(?:0[1-9]|1[0-2])-{_DAY_NUMBER}|{_DAY_NUMBER}(?P<mark>[-/.]){_DAY_NUMBER}(?P=mark)\d{{4}}"
    r"|\d{4}[-/](?:0?[1-9]|1[0-2])|(?:0?[1-9]|1[0-2])/\d{4}|(?:19|20)\d\d"
)


@lru_cache(maxsize=4_096)
def _point(text: str, today: date) -> DateRange | None:
    """A day, month or year."""
    from dateparser.date import DateDataParser

    shape = _POINT.fullmatch(text)
    if shape is None:
        return None
    settings = {
        "RELATIVE_BASE": datetime(today.year, today.month, today.day),
        "PREFER_DATES_FROM": "past",
        "PREFER_DAY_OF_MONTH": "first",
        "PREFER_MONTH_OF_YEAR": "first",
        "DATE_ORDER": "DMY" if shape["mark"] == "." else "MDY",
    }
    found = DateDataParser(languages=["en"], settings=settings).get_date_data(re.sub(r"\bof\b|,", " ", text))
    if found.date_obj is None:
        return None
    day: date = found.date_obj.date()
    if shape["weekday"] and not f"{day:%A}".casefold().startswith(shape["weekday"][:3]):
        raise ValueError(f"{day} is a {day:%A}")
    return _unit(found.period if found.period in ("day", "month", "year") else "day", day)


# Expressions with an open end, or two ends.

_RELATIVE = re.compile(
    r"\b(?:last|past|previous|this|current|next|coming|following|ago|today|tonight|yesterday|tomorrow|now)\b"
)
_NAMES_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_LEAD = re.compile(r"^(?:(?:in|on|at|during|over the|throughout|within|for|of|from|the)\s+)+(?=\S)")
_BEFORE = re.compile(r"(?:(?:strictly )?before|prior to|earlier than) (?P<x>.+)")
_THROUGH = re.compile(r"(?:until|till|up to|by|(?:no|not) later than|not after) (?P<x>.+)")
_SINCE = re.compile(
    r"(?:since|after|later than|(?:no|not) earlier than|not before) (?P<x>.+)|(?:from )?(?P<y>.+?) (?:onwards?|or later)|from (?P<z>.+?) on"
)
_BETWEEN = (
    re.compile(rf"(?:from |between )?(?P<month>{_MONTH}) (?P<a>{_NTH}) (?:to|until|and) (?P<b>{_NTH}(?:,? \d{{4}})?)"),
    re.compile(r"between (?P<a>.+?) and (?P<b>.+)"),
    re.compile(r"(?:from )?(?P<a>.+?) (?:to|until|till) (?P<b>.+)"),
)
_EDGE = re.compile(r"(?:the )?(?P<side>end|beginning|start) of (?P<x>.+)")
_ISO_INTERVAL = re.compile(r"(?:\d{4}-\d\d-\d\d|\.\.|)/(?:\d{4}-\d\d-\d\d|\.\.|)")
_HOW = 'Write it as "on 3 May 2025", "last week", "before July 2025", "from 5 to 7 May 2025" or "2025-01-01/2025-02-01"'


def read_range(expression: str, today: date, op: DateOperator = "=") -> DateReading:
    """Read a date expression under an operator of the query graph.

    :param expression: as written in a request ("in February", "before July 2025"), or an ISO interval ``start/end``.
    :raises InvalidArgumentError: when the expression is no date, and when it contradicts the operator.
    """
    text = " ".join(expression.casefold().split()).rstrip(".?!,")
    try:
        if not 0 < len(text) <= _MAX_CHARS:
            raise ValueError("it has 1 to 120 characters")
        found = DateRange.from_iso(text) if _ISO_INTERVAL.fullmatch(text) else _ends(text, today)
        if found is None:
            raise ValueError("no date was found in it")
        found = _under(found, op)
    except (ValueError, OverflowError) as error:
        problem = f"not a date expression: {error}"
        raise InvalidArgumentError(problem, subject=expression[:_MAX_CHARS], remedy=_HOW) from error
    last = found.end - _DAY if found.end else None
    if found.start and last:
        days = f"{found.start}" if found.start == last else f"{found.start} to {last}"
    else:
        days = f"{found.start} and after" if found.start else f"before {found.end}"
    assumed = not (_RELATIVE.search(text) or _NAMES_YEAR.search(text))
    why = ", its last occurrence, since it names no year" if assumed else ""
    return DateReading(found, f'"{expression}" is read as {days}{why}.')


def _ends(text: str, today: date) -> DateRange | None:
    for pattern in _BETWEEN:
        if found := pattern.fullmatch(text):
            last = " ".join(filter(None, (found.groupdict().get("month"), found["b"])))  # "May 5 to 7, 2025"
            if both := _between(found["a"], last, today):
                return both
    if found := _THROUGH.fullmatch(text):
        inner = _period(found["x"], today)
        return inner and DateRange(None, inner.end)
    if found := _BEFORE.fullmatch(text):
        end = _moment(found["x"], today)
        return DateRange(None, end) if end else None
    if found := _SINCE.fullmatch(text):
        start = _moment(next(filter(None, found.groups())), today)
        return DateRange(start, None) if start else None
    return _period(text, today)


def _moment(text: str, today: date) -> date | None:
    """Where a period begins; "the end of 2024" begins when 2024 ends."""
    edge = _EDGE.fullmatch(text)
    found = _period(edge["x"] if edge else text, today)
    if found is None:
        return None
    return found.end if edge and edge["side"] == "end" else found.start


def _under(found: DateRange, op: DateOperator) -> DateRange:
    """The days that meet an operator."""
    if op == "=" or (op == "<" and found.start is None):
        return found
    if found.start is None:
        raise ValueError("it has no beginning from which on something could be")
    if op == ">":
        return DateRange(found.start, None)
    if found.end is None:
        raise ValueError("it has no beginning before which something could be")
    return DateRange(None, found.start)


def _period(text: str, today: date) -> DateRange | None:
    """An expression without "before", "since" or two ends."""
    bare = _LEAD.sub("", text).strip(" ,.")
    for form in dict.fromkeys((text, bare)):
        for pattern, read in _SPANS:
            if found := re.fullmatch(pattern, form):
                return read(found, today)
    return _point(bare, today)


def _between(first: str, second: str, today: date) -> DateRange | None:
    """From the start of one date to the end of another; one without a year precedes or follows the other."""
    last = _period(second, today)
    if last is None or last.start is None or last.end is None:
        return None
    if bare := re.fullmatch(r"(\d\d?)(?:st|nd|rd|th)?", first):
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
        ahead = 7 if second.endswith("day") else 365
        last = _period(second, begin.start + timedelta(days=ahead)) or last
    if last.end is None or begin.start >= last.end:
        raise ValueError("it ends before it begins")
    return DateRange(begin.start, last.end)


# Where date expressions stand in a request.

_PREPOSITIONS = (
    "in on at during over within before after since until till by from between throughout prior earlier later than"
)
_OTHER = (
    "to the of and a an this last past previous next current coming following couple few several beginning start end no not more less most "
    "least under ago now onward onwards up or first second third fourth 1st 2nd 3rd 4th"
)
_CORE = re.compile(
    rf"{_MONTH}|{_WEEKDAY_NAME}|tues|weds|thurs?|(?:{_UNITS})s?|today|yesterday|tomorrow|tonight|night"
    rf"|{'|'.join(_SEASONS)}|q[1-4]|(?:19|20)\d\d|\d{{4}}-\d\d(?:-\d\d)?|\d{{4}}-q[1-4]|\d{{1,2}}[./-]\d{{1,2}}[./-]\d{{4}}"
    r"|\d{1,2}/\d{4}|\d{4}[–-]\d{4}|\d{4}-\d\d-\d\d/\S+"
)
_VOCABULARY = {*_PREPOSITIONS.split(), *_OTHER.split(), *NUMBER_WORDS}
_NO_END = {*_PREPOSITIONS.split(), "to", "the", "of", "and", "a", "an", "or"} - {"on"}
_NO_START = {"and", "to", "or", "of", "a", "an", "than"}
_NUMBER = re.compile(rf"\d{{1,4}}(?:st|nd|rd|th)?|{WORDED_NUMBER}")
_BARE = re.compile(rf"(?:the )?(?:(?:19|20)\d\d|(?:{_UNITS})s?|night|end|may|mar|sat|sun|fall|dec)", re.IGNORECASE)
_MAX_WORDS = 10
_UNREAD = rf"\b(?:{'|'.join(_WEEKDAYS)}|(?:{_UNITS})s?)\b"
_BESIDE = re.compile(
    rf"(?:\b(?:{'|'.join(sorted(filter(str.isalnum, _VOCABULARY)))}|early|mid|late|{_UNREAD}|\d+(?:st|nd|rd|th)?) )*$"
)
_CHANGED = re.compile(
    r"\b(?:every|each|other|alternate|except|half|almost|nearly|early|late|mid|over|under|(?:at|more|less|no more) (?:least|most|than))(?: the)? $",
    re.IGNORECASE,
)
_FOLLOWED = re.compile(r" (?:the )?\d{1,2}(?:st|nd|rd|th)\b")
_WHOLLY_UNREAD = re.compile(
    rf"{_UNREAD} (?:of|in|before|after|from) (?:the )?(?:{MONTHS}|{'|'.join(_WEEKDAYS)})\b"
    r"|\b(?:christmas|easter|halloween)(?!(?-i: [A-Z]))\b",
    re.IGNORECASE,
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
    """Return the date expressions of a text, in order, the longest readable ones first from the left. Where only a part
    of an expression can be read ("the second Tuesday of May"), it would mean other days: that is an
    InvalidArgumentError."""
    words = [(found.start(), found.end()) for found in re.finditer(r"[^\s,;?!()\"“”]+", text)]
    words = [(start, end - (text[end - 1] == ".")) for start, end in words]
    found: list[DateSpan] = []
    left, at = text, 0
    while at < len(words):
        stops = range(min(len(words), at + _MAX_WORDS), at, -1)
        span = next((span for stop in stops if (span := _span(text, words[at:stop], today))), None)
        if span is None:
            at += 1
            continue
        # Refused is a span beside words of dates which are not read with it.
        last = found[-1] if found else None
        before = text[last.end if last else 0 : span.start]
        near = _BESIDE.search(before)
        unread = near and re.search(_UNREAD, near[0])
        joined = last and _JOINED.fullmatch(before)
        if unread or joined or _CHANGED.search(before) or _FOLLOWED.match(text[span.end :]):
            start = span.start - len(near[0]) if near and unread else last.start if last else span.start
            raise _refused(text[start : span.end], f"only a part of it can be read: {span.text!r}")
        found.append(span)
        left = left[: span.start] + "." * len(span.text) + left[span.end :]
        at = next((number for number, (start, _) in enumerate(words) if start >= span.end), len(words))
    if unread := _WHOLLY_UNREAD.search(left):
        raise _refused(unread[0], "it cannot be read")
    return found


def _refused(part: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"not a date expression: {why}", subject=part, remedy=_HOW)


def _span(text: str, words: list[tuple[int, int]], today: date) -> DateSpan | None:
    start, end = words[0][0], words[-1][1]
    written, parts = text[start:end], [text[a:b].casefold() for a, b in words]
    known = all(part in _VOCABULARY or _NUMBER.fullmatch(part) or _CORE.fullmatch(part) for part in parts)
    if not known or not any(map(_CORE.fullmatch, parts)) or parts[0] in _NO_START or parts[-1] in _NO_END:
        return None
    following = re.match(r" (?!I\b)[A-Z][a-z]", text[end:])
    is_verb = {text[a:b] for a, b in words} & {"may", "march"}
    if is_verb or _BARE.fullmatch(written) or (following and not written[-1].isdigit()):
        return None
    op: DateOperator = next((op for pattern, op in _OPERATORS if re.match(pattern, written.casefold())), "=")
    try:
        read_range(written, today, op)
    except InvalidArgumentError:
        return None
    return DateSpan(start, end, written, op)
