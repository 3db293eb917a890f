"""Values that do not go with what they are said for: a day as an amount, the 31st of February, two ends the wrong way round."""

from __future__ import annotations

import re
from collections.abc import Iterable

from datagen.synthetic_request import SampleValue
from datagen.validation.parsed_request import Reading
from datagen.validation.slots import Slot
from datagen.validation.stated_values import kind_of

__all__ = ["mismatched"]

_WRONG = {
    "amount": frozenset(("email", "url", "time")),
    "count": frozenset(("email", "url", "time", "money")),
    "date": frozenset(("email", "url", "money", "percent")),
    "email": frozenset(("date", "time", "money", "percent", "number")),
    "enum": frozenset(("date", "time", "money", "email", "url")),
    "flag": frozenset(("date", "time", "money", "email", "url")),
    "id": frozenset(("date", "time", "money", "percent")),
}
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|yesterday|today|(?:next|last) (?:week|month|quarter|year|monday|tuesday|wednesday|thursday|friday)"
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_CURRENCY = r"(?:eur|usd|gbp|pln|chf|euros?|dollars?|pounds?|bucks|quid)"
_MONEY = rf"(?:[$€£]\s?\d[\d,.]*k?|\d[\d,.]*k?\s?{_CURRENCY}\b|{_CURRENCY}\s?\d[\d,.]*)"
_LINK = r"(?:\s+(?:of|to|is|as|at|be|for|was))?(?:\s+(?:be|about|exactly))?\s*[:=]?\s+"
_EQUALS = r"(?:\s+(?:of|to|is|as|at|be|was))?(?:\s+(?:be|about|exactly))?\s*[:=]?\s+"
_PHRASES = (
    (
        re.compile(
            rf"\b(?:amount|sum|price|salary|budget|discount|quantity|qty|hours|limit|fee){_EQUALS}(?:next\s+|last\s+)?(?P<value>{_DAY}|\d{{4}}-\d\d-\d\d|\d{{1,2}}:\d\d|\S+@\S+)(?!['’])"
        ),
        "an amount",
    ),
    (
        re.compile(
            rf"\b(?:date|deadline|due date|start date|end date|departure|check-in|check-out|due){_LINK}(?P<value>{_MONEY}|\d+\s?%)"
        ),
        "a date",
    ),
    (
        re.compile(
            rf"\b(?:until|since|starting|beginning|no later than|valid from|valid to|effective(?: from)?|as of)\s+(?P<value>{_MONEY}|\d+(?:\.\d+)?\s?%)"
        ),
        "a date",
    ),
    (re.compile(rf"\b(?P<value>(?:{_DAY}))\s+(?:{_CURRENCY}|percent|hours|units|pieces|pcs|km)\b"), "an amount"),
    (
        re.compile(
            r"(?P<value>(?:minus\s+|(?<![\w-])-)\d+(?:\.\d+)?)\s+(?:people|persons|guests|hours|days|units|pieces|pcs|seats|km|copies|eur|usd|gbp|euros|pounds|dollars|weeks|nights)\b"
        ),
        "a count",
    ),
    (
        re.compile(
            r"\b(?:email|e-mail|mail|address)(?:\s+address)?\s*(?:to|is|:|=|of)\s+(?P<value>\d[\d,.]*(?:\s?(?:eur|usd|gbp|%))?|\d{4}-\d\d-\d\d)(?=[\s.,;!?]|$)(?!\s+[a-z])"
        ),
        "an address",
    ),
    (
        re.compile(rf"\b(?:quantity|qty|number of \w+|headcount|guests|seats){_LINK}(?P<value>{_MONEY}|{_DAY})"),
        "a count",
    ),
)
_DATED = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\b|\b(?P<year>\d{{4}})-(?P<m>\d{{1,2}})-(?P<d>\d{{1,2}})\b"
)
_CLOCK = re.compile(r"(?<![\d.:])(?P<hour>\d{1,2}):(?P<minute>\d\d)(?![\d:])\s?(?P<half>am|pm)?")
_RANGE = re.compile(
    r"\b(?:from|between)\s+(?P<first>[^,.;?!]{3,25}?)\s+(?:to|until|till|and|through)\s+(?P<last>\d[\w -]{3,25})"
)
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_CODE = re.compile(r"^(?P<letters>[A-Za-z]{0,3})(?P<digits>\d{1,2})$")


def mismatched(reading: Reading, slots: Iterable[Slot], values: Iterable[SampleValue]) -> str:
    """The value that does not go with what it is said for, or empty."""
    slots = tuple(slots)
    text = reading.text.lower()
    return (
        _of_values(slots, values)
        or _phrases(text)
        or _impossible(text)
        or _ranges(text)
        or _codes(text, slots)
        or _both(reading, slots)
    )


def _of_values(slots: tuple[Slot, ...], values: Iterable[SampleValue]) -> str:
    by_name = {(slot.tool, slot.parameter): slot for slot in slots}
    for value in values:
        slot = by_name.get((value.tool, value.parameter))
        kind = kind_of(value.value)
        if slot is not None and kind in _WRONG.get(slot.kind, ()):
            return f"{value.value!r} is of the kind {kind}, which {slot.parameter!r} does not take"
        if (
            slot is not None
            and slot.kind == "amount"
            and kind == "date"
            and not value.value[:1].isdigit()
            and re.fullmatch(_DAY, value.value.lower())
        ):
            return f"{value.value!r} is a date, which {slot.parameter!r} does not take"
    return ""


def _phrases(text: str) -> str:
    for pattern, wanted in _PHRASES:
        if match := pattern.search(text):
            return f"{match['value']!r} is said where {wanted} is meant"
    return ""


def _impossible(text: str) -> str:
    for match in _DATED.finditer(text):
        month, day = _month_and_day(match)
        if not (1 <= month <= 12 and 1 <= day <= _LONGEST[month - 1]):
            return f"{match[0]!r} is no day of the calendar"
    for match in _CLOCK.finditer(text):
        if int(match["hour"]) > (12 if match["half"] else 24) or int(match["minute"]) > 59:
            return f"{match[0]!r} is no time of day"
    return ""


def _month_and_day(match: re.Match[str]) -> tuple[int, int]:
    if match["year"]:
        return int(match["m"]), int(match["d"])
    return 1 + next(at for at, name in enumerate(_MONTHS) if name.startswith(match["month"][:3])), int(match["day"])


def _ranges(text: str) -> str:
    """A range whose end lies before its begin."""
    for match in _RANGE.finditer(text):
        first, last = _DATED.fullmatch(match["first"].strip()), _DATED.match(match["last"].strip())
        if first is None or last is None:
            continue
        begin, end = _month_and_day(first), _month_and_day(last)
        if bool(first["year"]) != bool(last["year"]):
            continue
        # Over the turn of a year a range without years may well run backwards.
        if (first["year"] and (first["year"], *begin) > (last["year"], *end)) or (
            not first["year"] and begin > end and begin[0] - end[0] < 6
        ):
            return f"the range {match[0]!r} ends before it begins"
    return ""


def _codes(text: str, slots: tuple[Slot, ...]) -> str:
    """A value made like those of an enumeration, and none of them: P7 of P1 to P4, severity 9 of 1 to 4."""
    for slot in slots:
        coded = [match for value in slot.enum if (match := _CODE.match(value))]
        if len(coded) < 2 or len(coded) < len(slot.enum):
            continue
        letters = {match["letters"].lower() for match in coded}
        digits = {int(match["digits"]) for match in coded}
        name = "|".join(re.escape(word) for word in slot.words if len(word) > 3)
        for prefix in sorted(letters):
            told = rf"\b{prefix}" if prefix else rf"\b(?:{name})(?:\s+(?:level|of|to|is|as|=|:))?\s*"
            if not prefix and not name:
                continue
            for match in re.finditer(rf"{told}(?P<digits>\d{{1,2}})\b(?![-./:])", text):
                if int(match["digits"]) not in digits:
                    return f"{match[0]!r} is none of the values of {slot.parameter!r}"
    return ""


_OPPOSED = (
    ("approve", "reject"),
    ("approve", "decline"),
    ("accept", "reject"),
    ("accept", "decline"),
    ("grant", "revoke"),
    ("block", "unblock"),
    ("lock", "unlock"),
    ("open", "close"),
    ("enable", "disable"),
    ("activate", "deactivate"),
)


def _both(reading: Reading, slots: tuple[Slot, ...]) -> str:
    """Two values of one decision at once: approve and reject."""
    for one, other in _OPPOSED:
        match = re.search(rf"\b{one} and (?:also )?{other}\b|\b{other} and (?:also )?{one}\b", reading.plain)
        if match and any(slot.kind in ("enum", "flag") and slot.required for slot in slots) and not reading.conditions:
            return f"{match[0]!r} asks for two contrary things at once"
    return ""
