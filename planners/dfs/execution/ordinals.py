"""Ordinals (first, last, third, second to last) and the order that they count in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from ontology.errors import InvalidArgumentError
from planners.dfs.resolver import Entity

__all__ = ["in_order", "names_ordinal", "read_ordinal"]

_WORDS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_PLACES = {word: at for at, word in enumerate(_WORDS)} | dict.fromkeys(("earliest", "oldest"), 0)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
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
    place = _place(from_the_end.group(1) if from_the_end else text)
    if place is None:
        raise InvalidArgumentError(
            f"{value!r} is no ordinal", subject="ordinal", remedy="Write first, last, third, 3rd or second to last"
        )
    return -place - 1 if from_the_end else place


def _place(text: str) -> int | None:
    number = _NUMBER.fullmatch(text)
    if number:
        return int(number.group(1)) - 1 if int(number.group(1)) else None
    return _PLACES.get(text)


def names_ordinal(text: str) -> bool:
    """Whether a word of a text is an ordinal; a bare number is none."""
    return any(_is_ordinal(word) for word in re.findall(r"most recent|(?!\d+\b)\w+", text.casefold()))


def _is_ordinal(word: str) -> bool:
    try:
        read_ordinal(word)
    except InvalidArgumentError:
        return False
    return True


def in_order(entities: Iterable[Entity], field: str) -> list[Entity]:
    """Sort entities by a field, ascending: numbers, then times, then text, then those without it; equal ones by id.

    :param field: empty: by id alone.
    """
    by_id = sorted(entities, key=attrgetter("id"))
    return sorted(by_id, key=lambda entity: _key(entity.fields.get(field))) if field else by_id


def _key(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool | int | float):
        return 0, value
    if not isinstance(value, str):
        return 3, ""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return 2, value.casefold()
    return 1, (
        moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    ) - _EPOCH  # lengths of time compare many times faster
