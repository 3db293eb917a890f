"""Where the date expressions of a request stand."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from ontology.errors import InvalidArgumentError
from ontology.number_words import NUMBER_WORDS, WORDED_NUMBER
from planners.query.dates.calendar_units import UNITS
from planners.query.dates.read_range import MONTHS, DateOperator, read_range
from planners.query.dates.relative_dates import WEEKDAYS

__all__ = ["DateSpan", "date_spans"]

_PREPOSITIONS = "in on at during over within before after since until till by from between through throughout around prior earlier later than"
_OTHER = "to the of and a an this last past previous next current coming couple few several early late mid beginning start end middle half no not more less least most under sooner " \
    "first second third fourth 1st 2nd 3rd 4th ago now so far onward onwards whole up or sometime calendar ahead"  # fmt: skip
_CORE = re.compile(
    rf"(?:{MONTHS}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|{'|'.join(WEEKDAYS)}|(?:{UNITS})s?|today|yesterday|tomorrow|tonight"
    r"|morning|evening|night|spring|summer|autumn|winter|christmas|easter|halloween|q[1-4]|(?:19|20)\d\d|\d{4}-\d\d(?:-\d\d)?|\d{4}-[wq]\d+"
    r"|mid-[a-z]+|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{1,2}/\d{4}|(?:19|20)\d0s|\d{4}[–-]\d{4}|\d{4}-\d\d-\d\d/\S+)"
)
_VOCABULARY = {*_PREPOSITIONS.split(), *_OTHER.split(), *NUMBER_WORDS}
_NO_END = {*_PREPOSITIONS.split(), "to", "the", "of", "and", "a", "an", "or"} - {"on"}
_NUMBER = re.compile(rf"\d{{1,4}}(?:st|nd|rd|th)?|{WORDED_NUMBER}")
_BARE = re.compile(
    rf"(?:the )?(?:(?:19|20)\d\d|(?:{UNITS})s?|night|morning|evening|end|may|mar|sat|sun|sept?|dec)", re.IGNORECASE
)
_MAX_WORDS = 10
_WORDS = (
    "|".join(sorted(filter(str.isalnum, _VOCABULARY))) + rf"|(?:{UNITS})s?|{'|'.join(WEEKDAYS)}|\\d+(?:st|nd|rd|th)?"
)
_CHANGED = re.compile(r"\b(?:every|each|other|alternate|except|half|almost|nearly)(?: the)? $", re.IGNORECASE)
_UNREAD = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)}|(?:{UNITS})s?)\b")
_FOLLOWED = re.compile(r" (?:the )?\d{1,2}(?:st|nd|rd|th)\b")
_WHOLLY_UNREAD = re.compile(
    rf"\b(?:{'|'.join(WEEKDAYS)}|(?:{UNITS})s?) (?:of|in|before|after|from) (?:the )?(?:{MONTHS}|{'|'.join(WEEKDAYS)})\b",
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
    """Return the date expressions of a text, in order, the longest readable ones first from the left.

    :raises InvalidArgumentError: where only a part of an expression can be read ("the second Tuesday of May"): it would mean other days.
    """
    words = [(found.start(), found.end()) for found in re.finditer(r"[^\s,;?!()\"“”]+", text)]
    words = [(start, end - (text[end - 1] == ".")) for start, end in words]
    found: list[DateSpan] = []
    at = 0
    while at < len(words):
        span = next(
            (
                span
                for stop in range(min(len(words), at + _MAX_WORDS), at, -1)
                if (span := _span(text, words[at:stop], today))
            ),
            None,
        )
        if span:
            found.append(span)
            at = next((number for number, (start, _) in enumerate(words) if start >= span.end), len(words))
        else:
            at += 1
    for number, span in enumerate(found):
        _refuse_a_part(text, span, found[number - 1] if number else None)
    left = text
    for span in found:
        left = left[: span.start] + "." * len(span.text) + left[span.end :]
    if unread := _WHOLLY_UNREAD.search(left):
        raise _refused(unread[0], "it cannot be read")
    return found


def _refuse_a_part(text: str, span: DateSpan, last: DateSpan | None) -> None:
    """Refuse a span that stands beside words of dates which are not read with it."""
    before = text[last.end if last else 0 : span.start]
    near = re.search(rf"(?:\b(?:{_WORDS}) )*$", before)
    unread = near and _UNREAD.search(near[0])
    if unread or _CHANGED.search(before) or (last and _JOINED.fullmatch(before)) or _FOLLOWED.match(text[span.end :]):
        start = span.start - len(near[0]) if near and unread else last.start if last else span.start
        raise _refused(text[start : span.end], f"only a part of it can be read: {span.text!r}")


def _refused(part: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"not a date expression: {why}",
        subject=part,
        remedy='Write it as "on 3 May 2025", "last week", "from 5 to 7 May 2025" or "2025-01-01/2025-02-01"',
    )


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
