"""The shape of a JSON Schema ``pattern``, and how specific a shape is.

A pattern is parsed and written again from a subset of the language: literals, classes, bounded repetition, alternatives. It is rejected
where it has anything else (look-around, back references, flags), or where more than :data:`_MAX_WAYS` ways to match one text would have
to be tried. So the time to match a value has a bound, also where the document is hostile.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from itertools import zip_longest
from typing import Any

from ontology.value_shape import KIND_SHAPES, MAX_VALUE_CHARS, ValueShape

ops: Any = import_module("re._constants")  # the standard library's parser of patterns; its stubs do not have it
parser: Any = import_module("re._parser")

__all__ = ["ShapeFacts", "facts_of", "is_specific", "shape_of_pattern"]

_MAX_PATTERN_CHARS = 300
_MAX_WAYS = 1_000
_MAX_DEPTH = 6
_ASCII = frozenset(map(chr, range(128)))
_DIGITS = frozenset("0123456789")
_WORD = frozenset(one for one in _ASCII if one.isalnum() or one == "_")
_SPACE = frozenset(" \t\n\r\f\v")
_CATEGORIES = {
    ops.CATEGORY_DIGIT: _DIGITS,
    ops.CATEGORY_NOT_DIGIT: _ASCII - _DIGITS,
    ops.CATEGORY_WORD: _WORD,
    ops.CATEGORY_NOT_WORD: _ASCII - _WORD,
    ops.CATEGORY_SPACE: _SPACE,
    ops.CATEGORY_NOT_SPACE: _ASCII - _SPACE,
}
_ENDS = (ops.AT_BEGINNING, ops.AT_END, ops.AT_BEGINNING_STRING, ops.AT_END_STRING)
_ALPHABET_BITS = 6.0  # of 64 characters, of which identifiers are made

# What people write with digits that is no identifier. A shape that one of them has is not specific. Chosen, not tuned.
_EVERYDAY = (
    "2nd 10pm 24h 12kg 100k 50mm 230V 60Hz 3D 5G 4x4 24x7 x86 v2 mp3 B2B H1N1 A4 Q3 H1 Q3/2026 2026Q3 FY26 FY2026 W47 KW47 "
    "COVID19 CO2 top-10 Top10 90-day 3-year 2-3 9-5 1/2 24/7 10:30 3.14 1,000 50% $100 #1 1.2.3 "
    "2026-11 1955-1960 2026-11-22 22.11.2026 11/22/2026 1-11-2026 22-11-2026 +02:00 https://example.com http://example.com/a.html www.example.com customer order-items report_final"
).split()
_WIDTH_OF_CODE = 8  # quantities and amounts in requests have fewer digits. Chosen, not tuned.
_UNSPECIFIC_KINDS = frozenset(
    ("date-time", "date", "duration", "integer", "number", "currency", "slug", "ip", "version")
)
# Dates of the years 1900 to 2099 with and without a time, and seconds and milliseconds since 1970 of the years 2010 to 2039.
_TIMES = tuple(f"{year}1122{clock}" for year in range(1900, 2100) for clock in ("", "103000")) + tuple(
    f"{million}000000{rest}" for million in range(1_262, 2_209) for rest in ("", "000")
)


class _UnsupportedError(ValueError):
    """The pattern has a part outside the subset."""


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
    except (_UnsupportedError, re.error, OverflowError, RecursionError):
        return None


@lru_cache(maxsize=10_000)
def facts_of(shape: ValueShape) -> ShapeFacts:
    """Return the facts of a shape.

    :raises ValueError: when its pattern is outside the subset and it is no kind's.
    """
    known = KIND_SHAPES.get(shape.kind)
    if shape.kind and known != shape:
        raise ValueError(f"no kind has the shape {shape.pattern!r}")
    try:
        node = _sequence(parser.parse(shape.pattern, re.ASCII), 0) if shape.kind else _written(shape.pattern)
    except (_UnsupportedError, re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"no shape: {shape.pattern!r}") from error
    return ShapeFacts(
        specificity=round(node.bits, 2),
        prefix=node.prefix[:3],
        firsts=node.firsts,
        digits_only=node.chars <= _DIGITS,
        ways=1 if shape.kind else node.ways,  # those of the kinds are bounded by how they are written
        any_case=node.prefix[:2].isalpha() and len(node.prefix) > 1,
    )


@lru_cache(maxsize=10_000)
def is_specific(shape: ValueShape) -> bool:
    """Whether a text of this shape tells something: no word, plain number, amount, date or the like has it.

    Numbers must have at least 8 digits in every case, or begin with a digit that is given and is 0; none may be a date or a time.
    """
    if shape.kind:
        return shape.kind not in _UNSPECIFIC_KINDS
    node = _written(shape.pattern)
    if node.chars <= _DIGITS:
        is_wide = node.low >= _WIDTH_OF_CODE or (node.prefix[:1] == "0" and node.low > 1)
        return is_wide and not any(map(re.compile(shape.pattern, re.ASCII).fullmatch, _TIMES))
    if node.chars <= _DIGITS | {"."}:
        return False  # versions, addresses of computers, amounts
    compiled = re.compile(shape.pattern, facts_of(shape).flags)
    return node.low > 2 and not any(map(compiled.fullmatch, _EVERYDAY))


@dataclass(frozen=True, slots=True)
class _Node:
    """A part of a pattern: as text, and what is known of it.

    :param ways: how many ways there are to match one text; a bound of the steps.
    :param low: least number of characters.
    :param bits: bits of a text that matches.
    :param chars: the characters that a text may have.
    :param prefix: what every text begins with.
    :param firsts: with which characters a text begins.
    :param is_one: whether it is one class or literal, repeated or not.
    :param is_literal: whether only one text matches.
    :param is_group: whether the text stands in brackets.
    """

    text: str
    ways: float
    low: int
    bits: float
    chars: frozenset[str]
    prefix: str
    firsts: frozenset[str]
    is_one: bool = False
    is_literal: bool = False
    is_group: bool = False


@lru_cache(maxsize=10_000)
def _written(pattern: str) -> _Node:
    if len(pattern) > _MAX_PATTERN_CHARS:
        raise _UnsupportedError
    tree = parser.parse(pattern, re.ASCII)
    if tree.state.flags & ~(re.ASCII):
        raise _UnsupportedError
    node = _sequence(tree, 0)
    if node.ways > _MAX_WAYS or not node.text:
        raise _UnsupportedError
    return node


def _sequence(tree: Any, depth: int) -> _Node:
    if depth > _MAX_DEPTH:
        raise _UnsupportedError
    nodes = [_node(op, value, depth) for op, value in tree if op is not ops.AT or value not in _ENDS]
    ways = _ways(nodes, at_end=depth == 0)
    if len(nodes) == 1:
        return replace(nodes[0], ways=ways)
    fixed = [number for number, node in enumerate(nodes) if not node.is_literal]
    needed = [number for number, node in enumerate(nodes) if node.low]
    head, tail = (numbers[0] + 1 if numbers else len(nodes) for numbers in (fixed, needed))
    return _Node(
        text="".join(node.text for node in nodes),
        ways=ways,
        low=sum(node.low for node in nodes),
        bits=sum(node.bits for node in nodes),
        chars=frozenset().union(*(node.chars for node in nodes)),
        prefix="".join(node.prefix for node in nodes[:head]),
        firsts=frozenset().union(*(node.firsts for node in nodes[:tail])),
        is_literal=not fixed,
    )


def _ways(nodes: Sequence[_Node], *, at_end: bool) -> float:
    """Return the number of ways of a sequence. A repeated class has one way where a character outside it must follow.

    Upper and lower case are one, as a shape may be compiled without regard to case.
    """
    ways = 1.0
    for node, follower in zip_longest(nodes, nodes[1:]):
        if follower is None:
            clear = at_end
        else:
            clear = follower.is_one and follower.low > 0 and not _folded(follower.firsts) & _folded(node.chars)
        ways *= 1 if node.is_one and clear else node.ways
    return ways


def _folded(chars: frozenset[str]) -> frozenset[str]:
    return frozenset(map(str.lower, chars))


def _node(op: Any, value: Any, depth: int) -> _Node:
    if op is ops.LITERAL:
        char = chr(value)
        if "\ud800" <= char <= "\udfff":  # half of a character, which no text has and no file can be written with
            raise _UnsupportedError
        chars = frozenset((char,))
        return _Node(re.escape(char), 1, 1, _ALPHABET_BITS, chars, char, chars, is_one=True, is_literal=True)
    if op is ops.NOT_LITERAL:
        return _class(_ASCII - {chr(value)})
    if op is ops.ANY:
        return _class(_ASCII - {"\n"})
    if op is ops.IN:
        return _class(_members(value))
    if op is ops.MAX_REPEAT or op is ops.MIN_REPEAT:
        return _repeated(value[0], value[1], _sequence(value[2], depth + 1))
    if op is ops.SUBPATTERN and not value[1] and not value[2]:
        return _sequence(value[3], depth + 1)
    if op is ops.BRANCH:
        return _alternatives([_sequence(branch, depth + 1) for branch in value[1]])
    raise _UnsupportedError


def _members(items: Sequence[tuple[Any, Any]]) -> frozenset[str]:
    found: set[str] = set()
    negated = False
    for op, value in items:
        if op is ops.NEGATE:
            negated = True
        elif op is ops.LITERAL:
            found.add(chr(value))
        elif op is ops.RANGE:
            found.update(map(chr, range(value[0], min(value[1], 127) + 1)))
        elif op is ops.CATEGORY:
            found |= _CATEGORIES[value]
    return _ASCII - found if negated else frozenset(found)


def _class(chars: frozenset[str]) -> _Node:
    if not chars:
        raise _UnsupportedError
    bits = max(0.0, _ALPHABET_BITS - math.log2(len(chars)))
    return _Node(_class_text(chars), 1, 1, bits, chars, "", chars, is_one=True)


def _class_text(chars: frozenset[str]) -> str:
    if chars == _DIGITS:
        return r"\d"
    if chars == _WORD:
        return r"\w"
    codes = sorted(map(ord, chars))
    parts, start = [], 0
    for number in range(1, len(codes) + 1):
        if number == len(codes) or codes[number] != codes[number - 1] + 1:
            low, high = (_escaped(chr(codes[at])) for at in (start, number - 1))
            parts.append(low if low == high else f"{low}-{high}")
            start = number
    return f"[{''.join(parts)}]"


def _escaped(char: str) -> str:
    code = ord(char)
    if char.isalnum() or 32 < code < 127:
        return char if char.isalnum() else f"\\{char}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _repeated(low: int, high: Any, node: _Node) -> _Node:
    most = MAX_VALUE_CHARS if high is ops.MAXREPEAT else min(int(high), 4 * MAX_VALUE_CHARS)
    most = max(most, low)
    if low > MAX_VALUE_CHARS or not node.low:
        raise _UnsupportedError
    if low == most == 1:
        return node
    count = f"{{{low}}}" if low == most else f"{{{low},{most}}}"
    is_closed = node.is_group or (node.is_one and not node.text.endswith("}"))
    text = node.text if is_closed else f"(?:{node.text})"
    if node.ways > 1:
        ways = sum(min(node.ways**times, 1e9) for times in range(low, min(most, 40) + 1))
    else:
        ways = most - low + 1
    return _Node(
        text=text + count,
        ways=ways,
        low=low * node.low,
        bits=low * node.bits,
        chars=node.chars,
        prefix=node.prefix if low else "",
        firsts=node.firsts,
        is_one=node.is_one and node.ways == 1,
    )


def _alternatives(nodes: Sequence[_Node]) -> _Node:
    return _Node(
        text=f"(?:{'|'.join(node.text for node in nodes)})",
        ways=sum(node.ways for node in nodes),
        low=min(node.low for node in nodes),
        bits=min(node.bits for node in nodes),
        chars=frozenset().union(*(node.chars for node in nodes)),
        prefix="",
        firsts=frozenset().union(*(node.firsts for node in nodes)),
        is_group=True,
    )
