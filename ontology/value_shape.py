"""The shape of a value: what all values of one kind look like, as a regular expression of the whole value.

``INC0012345`` has the shape ``INC\\d{7}``, ``PROJ-123`` the shape ``PROJ\\-\\d{2,5}``; a UUID, an e-mail address and others have the shape
of their kind. :mod:`ontology.pattern_shape` makes the shape of a JSON Schema ``pattern``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["KIND_SHAPES", "MAX_VALUE_CHARS", "ShapeUse", "ValueShape", "kind_of_value", "shape_of", "widened"]

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
        name), ``observed``, or ``entity`` (another parameter of the same identifier in the same document).
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
_FIXED_DIGITS = (
    6  # as many digits, or a leading zero, are a fixed width; fewer are a counter that grows. Chosen, not tuned.
)
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
        return _mixed(text)
    return "".join(_runs(runs, first=first, last=last, years=years))


def _is_random(runs: Sequence[str]) -> bool:
    """Whether these runs of letters and of digits are no words and numbers."""
    chars = sum(map(len, runs))
    return any(len(runs) >= least and chars >= most for least, most in _RANDOM) or any(
        run.isalpha() and len(run) > _WORD_CHARS and not (run.islower() or run.isupper() or run.istitle())
        for run in runs
    )


def _runs(runs: Sequence[str], *, first: bool, last: bool, years: bool) -> list[str]:
    parts = []
    for number, run in enumerate(runs):
        if run.isdigit():
            is_year = years and len(run) == 4 and run[:2] == "20"
            parts.append(r"20\d{2}" if is_year else _digits(run, last=last and number == len(runs) - 1))
        elif first and not number:
            parts.append(run)
        else:
            parts.append(_letters(run) + (f"{{{len(run)}}}" if len(run) > 1 else ""))
    return parts


def _digits(run: str, *, last: bool) -> str:
    count = len(run)
    if not last or run[0] == "0" or count >= _FIXED_DIGITS:
        return rf"\d{{{count}}}" if count > 1 else r"\d"
    return rf"\d{{{max(1, count - 1)},{count + 2}}}"


def _mixed(text: str) -> str:
    letters = "".join(filter(str.isalpha, text))
    return f"[0-9{_letters(letters)[1:-1]}]{{{len(text)}}}"


def _letters(text: str) -> str:
    if text.isupper():
        return "[A-Z]"
    return "[a-z]" if text.islower() else "[A-Za-z]"
