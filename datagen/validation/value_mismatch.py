"""Values that do not fit: a day as an amount, the 31st of February, a range that ends too early."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from datagen.patterns import load_patterns
from datagen.synthetic_request import SampleValue
from datagen.validation.direction import are_ends
from datagen.validation.parsed_request import ParsedRequest
from datagen.validation.slots import Slot
from datagen.validation.stated_values import find_values, is_known_word, kind_of
from ontology.names import is_noun, is_verb, noun_lemma, words
from ontology.number_words import number_of

__all__ = ["find_mismatch"]

_NOT_TAKEN = {
    "amount": frozenset(("email", "url", "time")),
    "count": frozenset(("email", "url", "time", "money")),
    "date": frozenset(("email", "url", "money", "percent")),
    "email": frozenset(("date", "time", "money", "percent", "number")),
    "enum": frozenset(("date", "time", "money", "email", "url")),
    "code": frozenset(("date", "time", "percent", "email", "url")),
    "flag": frozenset(("date", "time", "money", "email", "url")),
    "id": frozenset(("date", "time", "money", "percent")),
    "text": frozenset(("date", "time", "percent")),
}
"""Kind of input → the kinds of values that it does not take."""
_VALUES = load_patterns("validation/values")
_MISPLACED = tuple(
    (_VALUES[name], wanted)
    for name, wanted in (
        ("day_for_amount", "an amount"),
        ("money_for_date", "a date"),
        ("money_after_since", "a date"),
        ("day_with_unit", "an amount"),
        ("negative_count", "a count"),
        ("number_for_address", "an address"),
        ("money_for_count", "a count"),
    )
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_DAYS_OF_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_HALF_A_YEAR = 6  # months
_MIN_NAME_WORDS, _MIN_SHARED = 2, 3  # words of a name; letters that two words of one stem share
_DAY_BEGINS = 18  # o'clock: what begins later may end the next day
_FREE_TEXT = load_patterns("validation/tools").words("plain") | load_patterns("validation/tools").words("free_text")
_IDENTIFYING = load_patterns("validation/tools").words("key_fields") | {"name"}
_OPPOSED = load_patterns("validation/tools").pairs("opposed")


def find_mismatch(parsed: ParsedRequest, slots: Sequence[Slot], values: Sequence[SampleValue]) -> str:
    """Return a sentence about the first value that does not fit its input; or empty."""
    text = parsed.text.lower()
    return (
        _wrong_kind(parsed, slots, values)
        or _one_for_two(slots, values)
        or _misplaced(text)
        or _impossible(text)
        or _reversed_range(text)
        or _contradictory_ends(slots, values)
        or _unknown_code(text, slots)
        or _opposed(parsed, slots)
    )


def _wrong_kind(parsed: ParsedRequest, slots: Sequence[Slot], values: Sequence[SampleValue]) -> str:
    by_key = {slot.key: slot for slot in slots}
    names = {value.text for value in parsed.of_kind("name")}
    for value in values:
        slot = by_key.get((value.tool, value.parameter))
        if slot is None:
            continue
        kind = kind_of(value.value)
        if kind in _NOT_TAKEN.get(slot.kind, ()) and not _may_be_any(slot, value.value):
            return f"{value.value!r} is of the kind {kind}, which {slot.parameter!r} does not take"
        if _is_name_for_identifier(slot, value.value, names):
            return f"{value.value!r} is a name, and no tool of the path finds the {slot.entity} that {slot.parameter!r} takes"
        text = value.value.lower()
        day = _VALUES["spoken_days"].fullmatch(text) or _VALUES["calendar_day"].fullmatch(text)
        if slot.kind == "amount" and kind == "date" and day:
            return f"{value.value!r} is a date, which {slot.parameter!r} does not take"
        if fault := _wrong_form(slot, text):
            return f"{value.value!r} {fault} {slot.parameter!r}"
    return ""


def _may_be_any(slot: Slot, value: str) -> bool:
    """Whether an input takes words of any kind, a value is a mere number that may be a code, or says that it is urgent."""
    if slot.kind == "flag":
        return _VALUES["near_dates"].fullmatch(value.lower()) is not None
    return slot.kind in ("text", "code") and (value.isdigit() or not _FREE_TEXT.isdisjoint(slot.words))


def _contradictory_ends(slots: Sequence[Slot], values: Sequence[SampleValue]) -> str:
    """One value for both ends of something, or days of which the last is before the first."""
    kinds = {slot.key: slot.kind for slot in slots}
    for one in values:
        for other in values:
            if one.tool != other.tool or not are_ends(one.parameter, other.parameter):
                continue
            if one.value == other.value and kinds.get((one.tool, one.parameter)) != "date":
                return f"{one.value!r} is both {one.parameter!r} and {other.parameter!r}"
            if _reversed_range(f"from {one.value} to {other.value}".lower()):
                return f"{other.value!r} is before {one.value!r}"
    return ""


def _one_for_two(slots: Sequence[Slot], values: Sequence[SampleValue]) -> str:
    """One value for the identifiers of two different things of one tool. Found on faults planted for EKS."""
    identifying = {
        slot.key: slot for slot in slots if slot.required and slot.last_word in _IDENTIFYING and not slot.person
    }
    found: dict[tuple[str, str], Slot] = {}
    for value in values:
        slot = identifying.get((value.tool, value.parameter))
        if slot is None:
            continue
        other = found.setdefault((value.tool, value.value), slot)
        if other.words[:-1] != slot.words[:-1]:
            return f"{value.value!r} is the value of both {other.parameter!r} and {slot.parameter!r}"
    return ""


def _is_name_for_identifier(slot: Slot, value: str, names: Collection[str]) -> bool:
    """Whether a name is said where the documents want an identifier, and not a name as well."""
    if slot.kind == "code" and slot.last_word in _IDENTIFYING:
        return len(value.split()) > _MIN_NAME_WORDS and value.islower() and not any(map(str.isdigit, value))
    if slot.kind != "id" or slot.named or _VALUES["code_form"].fullmatch(value):
        return False
    if any(letter.isdigit() for letter in value):
        return sum(word.isalpha() and len(word) >= _MIN_SHARED for word in value.split()) >= _MIN_NAME_WORDS
    return slot.number or "@" in value or " " in value.strip() or any(value in name or name in value for name in names)


def _wrong_form(slot: Slot, text: str) -> str:
    """What is wrong with the form of a value for an input by its type, its closed list and its bounds; or empty."""
    digits = any(letter.isdigit() for letter in text)
    said = set(re.findall(r"[a-z]+", text))
    if slot.number and not digits and said.isdisjoint(_VALUES.words("number_words")):
        return "is no number for"
    if slot.kind == "date" and _VALUES["counted_thing"].fullmatch(text):
        return "counts something, and a day is due for"
    if slot.kind == "date" and not digits and not _says_time(text):
        return "is no time, and a day is due for"
    number = _VALUES["bare_number"].fullmatch(text)
    if number is not None and slot.number and not slot.low <= float(number["digits"].replace(",", "")) <= slot.high:
        return "is out of the bounds of"
    if slot.enum and not digits and _is_foreign(slot, text):
        return "is none of the values of"
    return ""


def _says_time(text: str) -> bool:
    """Whether a text has a day, a time or a period in it."""
    found = any(value.kind in ("date", "time") for value in find_values(text))
    return found or any(_VALUES[name].search(text) for name in ("period", "some_period", "until"))


def _is_foreign(slot: Slot, text: str) -> bool:
    """Whether a value is none of a closed list: a number or a thing, of which no option has a form.

    People say a state or a decision in many words (``let it through``), so a value of several words is never foreign.
    """
    said = re.findall(r"[a-z]+", text)
    counted = bool(said) and _VALUES.words("counted").issuperset(said)
    if all(map(str.isdecimal, slot.enum)):
        return counted and number_of(text) not in set(map(float, slot.enum))
    if (
        len(said) != 1
        or any(len(option) < _MIN_SHARED for option in slot.enum)
        or text in _VALUES.words("function_words")
    ):
        return False
    options = {word for option in slot.enum for word in words(option)}
    if any(said[0][:_MIN_SHARED] == option[:_MIN_SHARED] for option in options):
        return False
    thing = is_noun(noun_lemma(text)) and not is_verb(text) and not text.endswith("ing")
    return counted or thing or text in _VALUES.words("colours") or not is_known_word(text)


def _misplaced(text: str) -> str:
    for pattern, wanted in _MISPLACED:
        if match := pattern.search(text):
            return f"{match['value']!r} is said where {wanted} is meant"
    return ""


class _Day(NamedTuple):
    """A calendar day; its year is empty where it is not stated."""

    year: str
    month: int
    day: int


def _day(match: re.Match[str]) -> _Day:
    if match["year"]:
        return _Day(match["year"], int(match["m"]), int(match["d"]))
    return _Day("", 1 + _MONTHS.index(match["month"][:3]), int(match["day"]))


def _impossible(text: str) -> str:
    for match in _VALUES["calendar_day"].finditer(text):
        _, month, day = _day(match)
        if not (1 <= month <= 12 and 1 <= day <= _DAYS_OF_MONTH[month - 1]):
            return f"{match[0]!r} is no day of the calendar"
    for match in _VALUES["clock"].finditer(text):
        if int(match["hour"]) > (12 if match["half"] else 24) or int(match["minute"]) > 59:
            return f"{match[0]!r} is no time of day"
    for match in _VALUES["time_range"].finditer(text):
        first, last = (tuple(map(int, match[end].split(":"))) for end in ("first", "last"))
        if last <= first and first[0] < _DAY_BEGINS:
            return f"the range {match[0]!r} ends before it begins"
    return ""


def _reversed_range(text: str) -> str:
    """A range of days that ends before it begins."""
    for match in _VALUES["day_range"].finditer(text):
        first, last = (
            _VALUES["calendar_day"].fullmatch(match["first"].strip()),
            _VALUES["calendar_day"].match(match["last"].strip()),
        )
        if first is None or last is None:
            continue
        begin, end = _day(first), _day(last)
        if bool(begin.year) != bool(end.year):
            continue
        # Over the turn of a year a range without years may well run backwards.
        if begin > end and (begin.year or begin.month - end.month < _HALF_A_YEAR):
            return f"the range {match[0]!r} ends before it begins"
    return ""


def _unknown_code(text: str, slots: Sequence[Slot]) -> str:
    """A value in the form of those of an enumeration, and none of them: P7 of P1 to P4, severity 9 of 1 to 4."""
    for slot in slots:
        coded = [match for value in slot.enum if (match := _VALUES["coded_value"].match(value))]
        if len(coded) < 2 or len(coded) < len(slot.enum):
            continue
        numbers = {int(match["digits"]) for match in coded}
        for match in _codes(text, slot, {match["letters"].lower() for match in coded}):
            if int(match["digits"]) not in numbers:
                return f"{match[0]!r} is none of the values of {slot.parameter!r}"
    return ""


def _codes(text: str, slot: Slot, letters: set[str]) -> Iterator[re.Match[str]]:
    """Return where a value of an enumeration is stated: with its letters, or after the name of the input."""
    name = "|".join(re.escape(word) for word in slot.words if len(word) > 3)
    for prefix in sorted(letters):
        before = rf"\b{prefix}" if prefix else rf"\b(?:{name})(?:\s+(?:level|of|to|is|as|=|:))?\s*"
        if prefix or name:
            yield from re.finditer(rf"{before}(?P<digits>\d{{1,2}})\b(?![-./:])", text)


def _opposed(parsed: ParsedRequest, slots: Sequence[Slot]) -> str:
    """Two values of one decision in one request: approve and reject."""
    if parsed.all_condition_cues or not any(slot.kind in ("enum", "flag") and slot.required for slot in slots):
        return ""
    for one, other in _OPPOSED:
        match = re.search(rf"\b{one} and (?:also )?{other}\b|\b{other} and (?:also )?{one}\b", parsed.masked)
        if match:
            return f"{match[0]!r} asks for two contrary things at once"
    return ""
