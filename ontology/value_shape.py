r"""The shape of a value: what all values of one kind look like, as a regular expression of the whole value.

``INC0012345`` has the shape ``INC\d{7}``, ``PROJ-123`` the shape ``PROJ\-\d{2,5}``; a UUID, an e-mail address and others have the shape
of their kind. Of a JSON Schema ``pattern`` it is the pattern. RE2 matches what documents state, in linear time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from types import MappingProxyType
from typing import Any

import re2

MAX_VALUE_CHARS = 64
"""A longer value has a shape only if it has a kind."""
_MAX_KIND_CHARS = 256
_HEX = "[0-9a-fA-F]"
_DAY = r"\d{4}-[01]\d-[0-3]\d"
# Tried in this order. Each takes time linear in the length of a value.
_KINDS = {
    "uuid": rf"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}",
    "arn": r"arn:[a-z-]{1,20}:\S{1,230}",
    "email": r"[^@\s/]{1,64}@[^@\s/]{1,180}\.[A-Za-z]{2,12}",
    "url": r"https?://\S{1,250}",
    "date-time": rf"{_DAY}[Tt ]\d\d:\d\d\S{{0,20}}",
    "date": rf"(?:{_DAY}|20\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01]))",
    "iban": r"[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){2}(?: ?[A-Z0-9]{3}|(?: ?[A-Z0-9]{4}){1,5}(?: ?[A-Z0-9]{1,3})?)",
    "phone": r"\+[0-9][0-9 ()-]{5,18}[0-9]",
    "integer": r"[+-]?\d{1,64}",
    "number": r"[+-]?\d{1,32}[.,]\d{1,32}",
    "ip": r"(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,3})?",
    "version": r"(?:[vV]\d{1,4}(?:\.\d{1,6}){1,4}|\d{1,4}(?:\.\d{1,6}){2,4})(?:[-+][0-9A-Za-z.-]{1,30})?",
    "duration": r"P(?:(?:\d{1,4}[YMWD]){1,4}|(?:\d{1,4}[YMWD]){0,4}T(?:\d{1,4}[HMS]){1,3})",
    "hex digest": r"(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})",
    "path": r"/[\w.~-]{1,60}(?:/[\w.~-]{1,60}){1,8}/?",
    "currency": "(?:AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|RON|SEK|SGD|THB|TRY|USD|ZAR)",
    "slug": r"[a-z]{1,40}(?:[-_][a-z]{1,40}){1,9}",
}


@dataclass(frozen=True, slots=True, order=True)
class ValueShape:
    """The shape of a value.

    :param pattern: regular expression of the whole value, as Python reads it with ``re.ASCII``.
    :param kind: a key of :data:`KIND_SHAPES`, or empty.
    """

    pattern: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeUse:
    """A parameter whose values have a shape.

    :param tool: the tool's id.
    :param parameter: name of the input or output.
    :param output: whether it is an output.
    :param entity: canonical name of the entity that the value identifies or describes; may be empty.
    :param source: what tells the shape: ``pattern``, ``example``, ``enum``, ``default``, ``description``, ``kind`` (type, format or
        name), or ``entity`` (another parameter of the same identifier in the same document).
    :param is_widened: whether the letters of the shape are any letters, and not those of the value that was shown.
    """

    shape: ValueShape
    tool: str
    parameter: str
    entity: str = ""
    output: bool = False
    source: str = "example"
    is_widened: bool = False


KIND_SHAPES: Mapping[str, ValueShape] = MappingProxyType(
    {kind: ValueShape(pattern, kind) for kind, pattern in _KINDS.items()}
)
"""Map from a kind of value to its shape."""
_COMPILED = {kind: re.compile(pattern, re.ASCII) for kind, pattern in _KINDS.items()}
_RUN = re.compile(r"[A-Za-z]+|\d+|[-_./:#+~=@]")
_SEGMENT = re.compile(r"[A-Za-z0-9]+|[-_./:#+~=@]")
# As many digits, or a leading zero, are a fixed width; fewer are a counter that grows. Chosen, not tuned.
_FIXED_DIGITS = 6
# A segment with so many runs of letters and digits, and so many characters, is random. Chosen, not tuned.
_RANDOM = ((3, 10), (4, 6))
_WORD_CHARS = 9  # longer letters in mixed case are random
_HEX_CHARS = 8
_FEWEST_DIGITS = 2  # "ext4" and "IPv6" are words


def kind_of_value(value: str) -> str:
    """Return the kind of a value, a key of :data:`KIND_SHAPES`; empty for a word, a code or a text."""
    if len(value) > _MAX_KIND_CHARS:
        return ""
    return next((kind for kind, pattern in _COMPILED.items() if pattern.fullmatch(value)), "")


def shape_of(value: str) -> ValueShape | None:
    """Return the shape of a value: the shape of its kind, or one with its first letters, digits and separators.

    None for a word and a text: for what has fewer than two digits, has white space, or is longer than :data:`MAX_VALUE_CHARS`.

    >>> shape_of("INC0012345")
    ValueShape(pattern='INC\\\\d{7}', kind='')
    """
    value = value.strip()
    kind = kind_of_value(value)
    # A long number is a code of this width.
    if kind and not (kind == "integer" and value.isdigit() and (len(value) >= _FIXED_DIGITS or value[0] == "0")):
        return KIND_SHAPES[kind]
    if value.isdigit() and value[0] == "0" and len(value) <= MAX_VALUE_CHARS:
        return ValueShape(rf"0\d{{{len(value) - 1}}}")
    segments = _SEGMENT.findall(value)
    digits = sum(map(str.isdigit, value))
    if len(value) > MAX_VALUE_CHARS or "".join(segments) != value or not digits:
        return None
    if digits < _FEWEST_DIGITS and not any(_is_random(_RUN.findall(segment)) for segment in segments):
        return None
    last = max(number for number, segment in enumerate(segments) if segment.isalnum())
    years = sum(map(str.isdigit, _RUN.findall(value))) > 1
    parts = [_segment(text, first=not number, last=number == last, years=years) for number, text in enumerate(segments)]
    return ValueShape("".join(parts))


def widened(value: str) -> ValueShape | None:
    """Return the shape of ``PROJ-123`` with any word in capitals for its first word; None for a value of another form.

    >>> widened("PROJ-123")
    ValueShape(pattern='[A-Z]{2,10}\\\\-\\\\d{2,5}', kind='')
    """
    match = re.fullmatch(r"[A-Z]{2,10}([-_/])(\d{1,9})", value.strip())
    return match and ValueShape(rf"[A-Z]{{2,10}}{re.escape(match[1])}{_digits(match[2], last=True)}")


def _segment(text: str, *, first: bool, last: bool, years: bool) -> str:
    """Return the expression of letters and digits without separators, or of one separator."""
    if not text.isalnum():
        return re.escape(text)
    runs = _RUN.findall(text)
    if len(runs) > 1 and len(text) >= _HEX_CHARS and re.fullmatch(r"[0-9a-f]+", text):
        return f"[0-9a-f]{{{len(text)}}}"
    if _is_random(runs):
        letters = _letters("".join(filter(str.isalpha, text)))
        return f"[0-9{letters[1:-1]}]{{{len(text)}}}"
    parts = []
    for number, run in enumerate(runs):
        if run.isdigit():
            is_year = years and len(run) == 4 and run[:2] == "20"
            parts.append(r"20\d{2}" if is_year else _digits(run, last=last and number == len(runs) - 1))
        elif first and not number:
            parts.append(run)
        else:
            parts.append(_letters(run) + (f"{{{len(run)}}}" if len(run) > 1 else ""))
    return "".join(parts)


def _is_random(runs: Sequence[str]) -> bool:
    """Whether these runs of letters and of digits are no words and numbers."""
    chars = sum(map(len, runs))
    if any(len(runs) >= least and chars >= most for least, most in _RANDOM):
        return True
    words = (run for run in runs if run.isalpha() and len(run) > _WORD_CHARS)
    return any(not (word.islower() or word.isupper() or word.istitle()) for word in words)


def _digits(run: str, *, last: bool) -> str:
    count = len(run)
    if not last or run[0] == "0" or count >= _FIXED_DIGITS:
        return rf"\d{{{count}}}" if count > 1 else r"\d"
    return rf"\d{{{max(1, count - 1)},{count + 2}}}"


def _letters(text: str) -> str:
    if text.isupper():
        return "[A-Z]"
    return "[a-z]" if text.islower() else "[A-Za-z]"


_MAX_PATTERN_CHARS = 300
_OPTIONS = re2.Options()
_OPTIONS.max_mem, _OPTIONS.log_errors = 2**18, False  # bytes
_ASCII = "".join(map(chr, range(128)))
_DIGITS = frozenset("0123456789")
_ALPHABET_BITS = 6.0  # of 64 characters, of which identifiers are made
# The parts of a pattern that RE2 compiles; a group with flags is none.
_PART = re.compile(
    r"(?P<open>\((?:\?:|\?P?<\w+>)?)|(?P<close>\))|(?P<other>\|)|(?P<count>[*+?]|\{(?P<least>\d+)(?:,\d*)?\})\??|(?P<edge>[\^$]|\\[AbBz])"
    r"|(?P<class>\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\\x(?:[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]+\})|\\?.)",
    re.DOTALL,
)

# What people write with digits that is no identifier. A shape that one of them has is not specific. Chosen, not tuned.
_EVERYDAY = (
    "2nd 10pm 24h 12kg 100k 50mm 230V 60Hz 3D 5G 4x4 24x7 x86 v2 mp3 B2B H1N1 A4 Q3 H1 Q3/2026 2026Q3 FY26 FY2026 W47 KW47 "
    "COVID19 CO2 top-10 Top10 90-day 3-year 2-3 9-5 1/2 24/7 10:30 3.14 1,000 50% $100 #1 1.2.3 "
    "2026-11 1955-1960 2026-11-22 22.11.2026 11/22/2026 1-11-2026 22-11-2026 +02:00 https://example.com http://example.com/a.html www.example.com customer order-items report_final"
).split()
_WIDTH_OF_CODE = 8  # quantities and amounts in requests have fewer digits. Chosen, not tuned.
_UNSPECIFIC_KINDS = frozenset("date-time date duration integer number currency slug ip version".split())
# Dates of the years 1900 to 2099 with and without a time, and seconds and milliseconds since 1970 of the years 2010 to 2039.
_TIMES = tuple(f"{year}1122{clock}" for year in range(1900, 2100) for clock in ("", "103000")) + tuple(
    f"{million}000000{rest}" for million in range(1_262, 2_209) for rest in ("", "000")
)


@dataclass(frozen=True, slots=True)
class ShapeFacts:
    """What matching needs to know of a shape.

    :param expression: the pattern as RE2 matches it: without regard to case where two letters at its beginning are given.
    :param instructions: the size of its program.
    :param specificity: the bits that a text must agree in to have the shape, of 6 for each character.
    :param prefix: the characters with which every value begins, at most 3; may be empty.
    :param least_chars: the length of the shortest value.
    :param chars: the ASCII characters of which values are made.
    """

    expression: str
    instructions: int
    specificity: float
    prefix: str
    least_chars: int
    chars: frozenset[str]

    @property
    def digits_only(self) -> bool:
        """Whether values are numbers."""
        return self.chars <= _DIGITS


def shape_of_pattern(pattern: str) -> ValueShape | None:
    """Return the shape of a regular expression (ECMA 262); None where RE2 does not know it, and where it is large or has flags.

    A pattern without ``^`` and ``$`` is read as one of the whole value, which is what documents mean by it.

    >>> shape_of_pattern("^[0-9]{2}-[A-Z]+$")
    ValueShape(pattern='\\\\d{2}-[A-Z]+', kind='')
    """
    bare = re.sub(r"^\^|(?<!\\)\$$", "", pattern.replace("[0-9]", r"\d"))
    shape = ValueShape(re.sub(r"\\u([0-9A-Fa-f]{4})", r"\\x{\1}", bare))
    try:
        facts_of(shape)
    except ValueError:
        return None
    return shape


@lru_cache(maxsize=10_000)
def facts_of(shape: ValueShape) -> ShapeFacts:
    """Return the facts of a shape.

    :raises ValueError: when RE2 does not compile its pattern, it is large or has flags, or it is not that of its kind.
    """
    pattern, used = shape.pattern, set[str]()
    if (shape.kind and KIND_SHAPES.get(shape.kind) != shape) or len(pattern) > _MAX_PATTERN_CHARS:
        raise ValueError(f"no shape: {pattern[:_MAX_PATTERN_CHARS]!r}")
    compiled = _compiled(pattern)
    least_chars, bits = _least(_PART.finditer(pattern), used)
    if not used:
        raise ValueError(f"no shape: {pattern!r}")
    try:
        low, high = (end.decode("utf-8", "ignore") for end in compiled.possiblematchrange(4))
        prefix = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False)))[:3]
    except re2.error:  # values may begin with any character
        prefix = ""
    expression = f"(?i:{pattern})" if len(prefix) > 1 and prefix[:2].isalpha() else pattern
    return ShapeFacts(expression, compiled.programsize, round(bits, 2), prefix, least_chars, frozenset(used))


@lru_cache(maxsize=10_000)
def is_specific(shape: ValueShape) -> bool:
    """Whether a text of this shape tells something: no word, plain number, amount, date or the like has it.

    Numbers must have at least 8 digits in every case, or begin with a digit that is given and is 0; none may be a date or a time.
    """
    if shape.kind:
        return shape.kind not in _UNSPECIFIC_KINDS
    facts = facts_of(shape)
    if facts.digits_only:
        is_wide = facts.least_chars >= _WIDTH_OF_CODE or (facts.prefix[:1] == "0" and facts.least_chars > 1)
        return is_wide and not any(matches(shape.pattern, time) for time in _TIMES)
    if facts.chars <= _DIGITS | {"."}:
        return False  # versions, addresses of computers, amounts
    return facts.least_chars > 2 and not any(matches(facts.expression, text) for text in _EVERYDAY)


def matches(expression: str, value: str) -> bool:
    """Whether RE2 matches a whole value, in time linear in its length; ValueError for what it does not compile."""
    return _compiled(expression).fullmatch(value.encode("utf-8", "replace")) is not None


@lru_cache(maxsize=500)  # of at most 256 KiB
def _compiled(expression: str) -> Any:
    try:
        return re2.compile(expression, _OPTIONS)
    except re2.error as error:
        raise ValueError(f"no shape: {expression!r}") from error


def _least(tokens: Iterator[re.Match[str]], used: set[str]) -> tuple[int, float]:
    """The fewest characters of a text, and the fewest bits that it must agree in, up to the end of a group; ``used`` gets its characters."""
    parts: list[tuple[int, float]] = []
    alternatives = [parts]
    for token in tokens:
        match token.lastgroup:
            case "open":
                parts.append(_least(tokens, used))
            case "close":
                break
            case "other":
                alternatives.append(parts := [])
            case "class":
                chars = _chars(token[0])
                used |= chars
                parts.append((1, max(0.0, _ALPHABET_BITS - math.log2(len(chars)))))
            case "count":
                if not parts:
                    raise ValueError("a group has flags")
                chars_of, bits_of = parts.pop()
                times = int(token["least"] or token[0][0] == "+")
                parts.append((times * chars_of, times * bits_of))
    totals = [tuple(map(sum, zip(*each, strict=True))) or (0, 0.0) for each in alternatives]
    return min(chars for chars, _ in totals), min(bits for _, bits in totals)


@lru_cache(maxsize=10_000)
def _chars(class_: str) -> frozenset[str]:
    """The ASCII characters of a class or a literal; the text itself where it has none."""
    return frozenset(one for one in _ASCII if matches(class_, one)) or frozenset((class_,))
