"""Ordinals in words: first, last, third, second to last."""

from __future__ import annotations

import re

from ontology.errors import InvalidArgumentError

__all__ = ["names_ordinal", "read_ordinal"]

_WORDS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_PLACES = {word: at for at, word in enumerate(_WORDS)} | dict.fromkeys(("earliest", "oldest"), 0)
_LAST = {"last", "latest", "newest", "most recent"}
_NUMBER = re.compile(r"(\d{1,6})(?:st|nd|rd|th)?")
_FROM_THE_END = re.compile(r"(.+?)[ -](?:to[ -])?last")


def read_ordinal(value: str | int | float | bool) -> int:
    """Return the place that an ordinal means, as an index of a list: 0 for the first, -1 for the last.

    :param value: a word (``third``), a number (``3``, ``3rd``), or one of these with ``to last``.
    :raises InvalidArgumentError: when it is no ordinal.
    """
    text = " ".join(str(value).split()).casefold()
    if text in _LAST:
        return -1
    from_the_end = _FROM_THE_END.fullmatch(text)
    word = from_the_end[1] if from_the_end else text
    number = _NUMBER.fullmatch(word)
    place = int(number[1]) - 1 if number else _PLACES.get(word, -1)
    if place < 0:
        raise InvalidArgumentError(
            f"{value!r} is no ordinal", subject="ordinal", remedy="Write first, last, third, 3rd or second to last"
        )
    return -place - 1 if from_the_end else place


def names_ordinal(text: str) -> bool:
    """Whether a word of a text is an ordinal; a bare number is none."""
    for word in re.findall(r"most recent|(?!\d+\b)\w+", text.casefold()):
        try:
            read_ordinal(word)
        except InvalidArgumentError:
            continue
        return True
    return False
