r"""The shape of a value: what all values of one kind look like, as a regular expression of the whole value.

``INC0012345`` has the shape ``INC\d{7}``, ``PROJ-123`` the shape ``PROJ\-\d{2,5}``; a UUID, an e-mail address and others have the shape
of their kind. Of a JSON Schema ``pattern`` it is the pattern, in one way of writing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from itertools import groupby, takewhile, zip_longest
from types import MappingProxyType
from typing import Any

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


_OPS: Any = import_module("re._constants")  # the standard library's parser of patterns; its stubs do not have it
_PARSER: Any = import_module("re._parser")
_COMPILER: Any = import_module("re._compiler")
_MAX_PATTERN_CHARS = 300
_MAX_WAYS = 1_000
_MAX_DEPTH = 6
_ASCII = "".join(map(chr, range(128)))
_DIGITS = frozenset("0123456789")
_ENDS = (_OPS.AT_BEGINNING, _OPS.AT_END, _OPS.AT_BEGINNING_STRING, _OPS.AT_END_STRING)
_CLASSES = (_OPS.IN, _OPS.ANY, _OPS.NOT_LITERAL)
_ALPHABET_BITS = 6.0  # of 64 characters, of which identifiers are made

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

    :param specificity: the bits that a text must agree in to have the shape, of 6 for each character.
    :param prefix: the letters and other characters with which every value begins, at most 3; may be empty.
    :param firsts: the characters with which a value begins.
    :param digits_only: whether values are numbers.
    :param ways: how many ways there are to match one text, at least 1: the cost of a match.
    :param any_case: whether a text in the other case has the shape too: two letters at its beginning are given.
    """

    specificity: float
    prefix: str
    firsts: frozenset[str]
    digits_only: bool
    ways: float
    any_case: bool

    @property
    def flags(self) -> re.RegexFlag:
        """The flags with which the pattern is compiled."""
        return re.ASCII | re.IGNORECASE if self.any_case else re.ASCII


def shape_of_pattern(pattern: str) -> ValueShape | None:
    """Return the shape of a regular expression (ECMA 262); None where it has parts outside the subset, or is too costly.

    A pattern without ``^`` and ``$`` is read as one of the whole value, which is what documents mean by it.

    >>> shape_of_pattern("^[0-9]{2}-[A-Z]+$")
    ValueShape(pattern='\\\\d{2}\\\\-[A-Z]{1,64}', kind='')
    """
    try:
        return ValueShape(_written(pattern).text)
    except ValueError:
        return None


@lru_cache(maxsize=10_000)
def facts_of(shape: ValueShape) -> ShapeFacts:
    """Return the facts of a shape.

    :raises ValueError: when its pattern is outside the subset and it is no kind's.
    """
    if shape.kind and KIND_SHAPES.get(shape.kind) != shape:
        raise ValueError(f"no kind has the shape {shape.pattern!r}")
    part = _sequence(_PARSER.parse(shape.pattern, re.ASCII), 0) if shape.kind else _written(shape.pattern)
    any_case = len(part.prefix) > 1 and part.prefix[:2].isalpha()
    return ShapeFacts(
        specificity=round(part.bits, 2),
        prefix=part.prefix[:3],
        firsts=part.firsts | {other for one in part.firsts if any_case for other in (one.lower(), one.upper())},
        digits_only=part.chars <= _DIGITS,
        ways=1 if shape.kind else part.ways,  # those of the kinds are bounded by how they are written
        any_case=any_case,
    )


@lru_cache(maxsize=10_000)
def is_specific(shape: ValueShape) -> bool:
    """Whether a text of this shape tells something: no word, plain number, amount, date or the like has it.

    Numbers must have at least 8 digits in every case, or begin with a digit that is given and is 0; none may be a date or a time.
    """
    if shape.kind:
        return shape.kind not in _UNSPECIFIC_KINDS
    part = _written(shape.pattern)
    if part.chars <= _DIGITS:
        is_wide = part.low >= _WIDTH_OF_CODE or (part.prefix[:1] == "0" and part.low > 1)
        return is_wide and not any(map(re.compile(shape.pattern, re.ASCII).fullmatch, _TIMES))
    if part.chars <= _DIGITS | {"."}:
        return False  # versions, addresses of computers, amounts
    compiled = re.compile(shape.pattern, facts_of(shape).flags)
    return part.low > 2 and not any(map(compiled.fullmatch, _EVERYDAY))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of a pattern: as text, with the least number of characters, and the bits that a text must agree in.

    ``ways`` is how many ways there are to match one text, a bound of the steps. ``is_one``: it is one class or literal,
    repeated or not. ``is_closed``: a count may follow its text.
    """

    text: str
    ways: float
    low: int
    bits: float
    chars: frozenset[str]
    firsts: frozenset[str]
    prefix: str = ""
    is_one: bool = False
    is_closed: bool = False


@lru_cache(maxsize=10_000)
def _written(pattern: str) -> _Part:
    """A pattern of the subset, in the one way in which it is written here; ValueError for any other."""
    try:
        tree = _PARSER.parse(pattern[: _MAX_PATTERN_CHARS + 1], re.ASCII)
        part = _sequence(tree, 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"no shape: {pattern!r}") from error
    is_long, has_flags = len(pattern) > _MAX_PATTERN_CHARS, tree.state.flags & ~re.ASCII
    if is_long or has_flags or part.ways > _MAX_WAYS or not part.text:
        raise ValueError(f"no shape: {pattern!r}")
    return part


def _sequence(tree: Any, depth: int) -> _Part:
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deeply")
    parts = [
        _part(tree[at : at + 1], depth)
        for at, (op, value) in enumerate(tree)
        if op is not _OPS.AT or value not in _ENDS
    ]
    ways = _ways(parts, at_end=depth == 0)
    if len(parts) == 1:
        return replace(parts[0], ways=ways)
    literals = [*takewhile(_is_literal, parts)]
    optional = [*takewhile(lambda part: not part.low, parts)]
    return _Part(
        text="".join(part.text for part in parts),
        ways=ways,
        low=sum(part.low for part in parts),
        bits=sum(part.bits for part in parts),
        chars=frozenset().union(*(part.chars for part in parts)),
        firsts=frozenset().union(*(part.firsts for part in parts[: len(optional) + 1])),
        prefix="".join(part.prefix for part in parts[: len(literals) + 1]),
    )


def _is_literal(part: _Part) -> bool:
    """Whether only one text matches."""
    return part.low == len(part.prefix) and part.bits == _ALPHABET_BITS * part.low and part.ways == 1


def _ways(parts: Sequence[_Part], *, at_end: bool) -> float:
    """A repeated class has one way where a character outside it, in both cases, must follow."""
    ways = 1.0
    for part, after in zip_longest(parts, parts[1:]):
        clear = at_end
        if after is not None:
            folded = [frozenset(map(str.lower, chars)) for chars in (after.firsts, part.chars)]
            clear = after.is_one and after.low > 0 and folded[0].isdisjoint(folded[1])
        ways *= 1 if part.is_one and clear else part.ways
    return ways


def _part(tree: Any, depth: int) -> _Part:
    """One node of a tree of the parser."""
    op, value = tree[0]
    if op is _OPS.LITERAL and not 0xD800 <= value < 0xE000:  # half of a character, which no text has
        return _class(frozenset(chr(value)), re.escape(chr(value)), prefix=chr(value))
    if op in _CLASSES:
        others = [chr(code) for kind, code in value if kind is _OPS.LITERAL and code > 127] if op is _OPS.IN else []
        found = frozenset(filter(_COMPILER.compile(tree).fullmatch, (*_ASCII, *others)))
        return _class(found, _class_text(found))
    if op is _OPS.MAX_REPEAT or op is _OPS.MIN_REPEAT:
        return _repeated(value[0], value[1], _sequence(value[2], depth + 1))
    if op is _OPS.SUBPATTERN and not value[1] and not value[2]:
        return _sequence(value[3], depth + 1)
    if op is _OPS.BRANCH:
        return _alternatives([_sequence(branch, depth + 1) for branch in value[1]])
    raise ValueError("a part outside the subset")


def _class(chars: frozenset[str], text: str, prefix: str = "") -> _Part:
    bits = max(0.0, _ALPHABET_BITS - math.log2(len(chars)))
    return _Part(
        text=text, ways=1, low=1, bits=bits, chars=chars, firsts=chars, prefix=prefix, is_one=True, is_closed=True
    )


def _class_text(chars: frozenset[str]) -> str:
    if not chars:
        raise ValueError("a class without characters")
    for text in (r"\d", r"\w"):
        if chars == frozenset(re.findall(text, _ASCII, re.ASCII)):
            return text
    runs = [[*run] for _, run in groupby(enumerate(sorted(chars)), lambda each: ord(each[1]) - each[0])]
    ends = [(_escaped(run[0][1]), _escaped(run[-1][1])) for run in runs]
    return f"[{''.join(low if low == high else f'{low}-{high}' for low, high in ends)}]"


def _escaped(char: str) -> str:
    code = ord(char)
    if char.isalnum() or 32 < code < 127:
        return char if char.isalnum() else f"\\{char}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _repeated(low: int, high: Any, part: _Part) -> _Part:
    most = max(MAX_VALUE_CHARS if high is _OPS.MAXREPEAT else min(int(high), 4 * MAX_VALUE_CHARS), low)
    if low > MAX_VALUE_CHARS or not part.low:
        raise ValueError("a repetition without bounds")
    if low == most == 1:
        return part
    count = f"{{{low}}}" if low == most else f"{{{low},{most}}}"
    ways = sum(min(part.ways**times, 1e9) for times in range(low, min(most, 40) + 1))
    return replace(
        part,
        text=(part.text if part.is_closed else f"(?:{part.text})") + count,
        ways=ways if part.ways > 1 else most - low + 1,
        low=low * part.low,
        bits=low * part.bits,
        prefix=part.prefix if low else "",
        is_one=part.is_one and part.ways == 1,
        is_closed=False,
    )


def _alternatives(parts: Sequence[_Part]) -> _Part:
    return _Part(
        text=f"(?:{'|'.join(part.text for part in parts)})",
        ways=sum(part.ways for part in parts),
        low=min(part.low for part in parts),
        bits=min(part.bits for part in parts),
        chars=frozenset().union(*(part.chars for part in parts)),
        firsts=frozenset().union(*(part.firsts for part in parts)),
        is_closed=True,
    )
