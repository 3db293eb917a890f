"""Stated values: the values in a request that may fill an input, found by their form alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from datagen.patterns import load_patterns
from ontology.names import is_word, noun_lemma

__all__ = ["StatedValue", "find_values", "is_known_word", "kind_of"]

_VALUES = load_patterns("validation/values")
_KNOWN_ENDINGS = tuple(_VALUES.words("known_endings"))
_NAME = re.compile(r"[^\W\d_][\w'’&-]*[^\W_]|[^\W\d_]")
_SURNAME_OR_POSSESSIVE = re.compile(r" [A-Z][a-z]|['’]s ")
_NEXT_WORD = re.compile(r" ([a-z]{3,})\b")
_WORD_PARTS = re.compile(r"[-'’]")
_MAX_COUNT_DIGITS = 5
_MAX_ACRONYM = 5  # characters
_MIN_KNOWN = 3  # characters; shorter words are never names


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedValue:
    """A value in a request.

    :param kind: ``url``, ``email``, ``quoted``, ``money``, ``percent``, ``time``, ``date``, ``id``, ``number`` or
        ``name``.
    :param start: the position of its first character; ``end`` is past its last one.
    """

    kind: str
    text: str
    start: int
    end: int


def find_values(text: str) -> tuple[StatedValue, ...]:
    """The values that a request states, in its order; none overlaps another."""
    found = [value for match in _VALUES["value"].finditer(text) if (value := _typed(match, text)) is not None]
    return tuple(sorted((*found, *_names(text, found)), key=lambda value: value.start))


def kind_of(value: str) -> str:
    """The kind of a value on its own, when all of it is of one kind; else empty.

    >>> kind_of("EUR 250"), kind_of("3 March"), kind_of("around noon")
    ('money', 'date', '')
    """
    stripped = value.strip()
    match = _VALUES["value"].match(stripped)
    if match is None or match.end() < len(stripped):
        return ""
    typed = _typed(match, stripped)
    return typed.kind if typed is not None else ""


def _typed(match: re.Match[str], text: str) -> StatedValue | None:
    """The value of a match; None for a date that is none."""
    kind, said, after = match.lastgroup or "", match[0], text[match.end() :]
    if kind == "id":
        counts = said.isdigit() and not text[: match.start()].endswith("#") and _counts(said, after)
        kind = "number" if _VALUES["measured"].match(said) or counts else kind
    if kind == "date" and (said.lower() == "now" or _is_first_name(said, after)):
        return None
    return StatedValue(kind=kind, text=said, start=match.start(), end=match.end())


def _is_first_name(word: str, after: str) -> bool:
    """Whether the name of a month is a first name: a surname or possessive follows (``Jan Kowalczyk``, ``April's``)."""
    return word[0].isupper() and word.isalpha() and _SURNAME_OR_POSSESSIVE.match(after) is not None


def _counts(digits: str, after: str) -> bool:
    """Whether digits count something: what follows them is a noun in the plural (``12000 units``)."""
    match = _NEXT_WORD.match(after)
    if match is None or len(digits) > _MAX_COUNT_DIGITS:
        return False
    return match[1].endswith("s") and noun_lemma(match[1]) != match[1]


def _names(text: str, taken: Sequence[StatedValue]) -> list[StatedValue]:
    """Proper names: words with a capital where none is due, those in a row as one."""
    found: list[StatedValue] = []
    for match in _name_words(text, taken):
        start = match.start()
        if found and start - found[-1].end <= 1:
            start = found.pop().start
        found.append(StatedValue(kind="name", text=text[start : match.end()], start=start, end=match.end()))
    return found


def _name_words(text: str, taken: Sequence[StatedValue]) -> Iterator[re.Match[str]]:
    for match in _NAME.finditer(text):
        free = not any(value.start < match.end() and match.start() < value.end for value in taken)
        if free and _is_name(match[0], at_start=bool(_VALUES["opens_sentence"].search(text[: match.start()][-4:]))):
            yield match


def _is_name(word: str, *, at_start: bool) -> bool:
    bare = word.lower().removesuffix("'s").removesuffix("’s")
    if bare in _VALUES.words("function_words") or bare in _VALUES.words("not_names"):
        return False
    if not word[0].isupper():
        return not is_known_word(bare) and len(bare) > _MIN_KNOWN
    if word.isupper() and len(word) <= _MAX_ACRONYM:
        return False
    return not at_start or not is_known_word(bare)


@lru_cache(maxsize=1 << 16)
def is_known_word(word: str) -> bool:
    """Whether dictionaries list a lower-case word in any of its forms; another word may well be a name."""
    if word in _VALUES.words("function_words") or len(word) < _MIN_KNOWN:
        return True
    parts = [part for part in _WORD_PARTS.split(word) if part]
    if len(parts) > 1:
        return all(map(is_known_word, parts))
    return word.endswith(_KNOWN_ENDINGS) or is_word(word)
