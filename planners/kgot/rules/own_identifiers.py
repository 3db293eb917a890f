"""Which field of a record is its own identifier, and which only refer to other things. The order of fields says nothing: journals sort them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ontology.names import noun_lemma, words
from planners.kgot.rules.shape_names import identifier_of

__all__ = ["is_key", "own_identifier"]

_PLAIN = ("id", "_id", "ID")
_MOST_CHARS = 256


def is_key(value: Any) -> bool:
    """Whether a value can identify a thing."""
    if isinstance(value, str):
        return 0 < len(value) <= _MOST_CHARS
    return isinstance(value, int) and not isinstance(value, bool)


def own_identifier(
    record: Mapping[Any, Any],
    *,
    called: str,
    arguments: Mapping[str, Any],
    expected: str = "",
    siblings: Sequence[Mapping[Any, Any]] = (),
) -> str:
    """Return the field, or empty where none is it for sure.

    In this order: ``id``; the one that the call asked with; that of the name of the list or field that holds the record; the expected
    one; the only one; the only one that tells the records of a list apart.

    :param called: name of the list, or of the field, that holds the record; empty of a whole answer.
    :param arguments: of the call, where the record is its whole answer; else empty.
    :param expected: what whoever chose the tool knows of its answers.
    """
    held = [
        name
        for name, value in record.items()
        if isinstance(name, str) and is_key(value) and identifier_of(name) is not None
    ]
    if plain := next((name for name in _PLAIN if name in held), ""):
        return plain
    asked = [name for name in held if name in arguments and str(arguments[name]) == str(record[name])]
    named = [name for name in held if called and _words(identifier_of(name) or "") == _words(called)]
    for found in (asked, named, [name for name in held if name == expected], held):
        if len(found) == 1:
            return found[0]
    return _telling(held, siblings)


def _telling(names: Sequence[str], siblings: Sequence[Mapping[Any, Any]]) -> str:
    """Return the only field that has another value in each record of a list, or empty."""
    if len(siblings) < 2:
        return ""
    apart = [
        name
        for name in names
        if all(is_key(each.get(name)) for each in siblings)
        and len({str(each[name]) for each in siblings}) == len(siblings)
    ]
    return apart[0] if len(apart) == 1 else ""


def _words(name: str) -> list[str]:
    parts = words(name)
    return [*parts[:-1], noun_lemma(parts[-1])] if parts else []
