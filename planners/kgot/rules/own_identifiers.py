"""Which field of a record is its own identifier, and which only refer to other things. The order of fields says nothing: journals sort them."""

from __future__ import annotations

import re
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
    tool: str = "",
    arguments: Mapping[str, Any],
    expected: str = "",
    alone: bool = False,
) -> str:
    """Return the field, or empty where none is it for sure: the items of an order name products, and are none.

    In this order: ``id``; the only one that the call asked with; the expected one; the only one of the name of the list or field that
    holds the record; that of the tool's name, where no other has a value of its form (``getManager`` gives an employee with a
    ``managerId``, which is another's); of the value of a field of its own (``accountOwner``) the only one.

    :param called: name of the list or field that holds the record; empty of a whole answer.
    :param tool: name of the tool whose answer it is or whose answer lists it; empty of what stands deeper.
    :param arguments: of the call, where the record is its whole answer; else empty.
    :param expected: what whoever chose the tool knows of its answers.
    :param alone: whether it is the value of a field, not one of a list or a whole answer.
    """
    held = [
        name
        for name, value in record.items()
        if isinstance(name, str) and is_key(value) and identifier_of(name) is not None
    ]
    if plain := next((name for name in _PLAIN if name in held), ""):
        return plain
    asked = [name for name in held if name in arguments and str(arguments[name]) == str(record[name])]
    if len(asked) > 1:  # it is of both
        return ""
    named = [name for name in held if _ends(called, identifier_of(name) or "")]
    by_tool = [
        name for name in held if _ends(tool, identifier_of(name) or "") and _is_one_of_its_form(name, held, record)
    ]
    for found in (asked, [name for name in held if name == expected], named, by_tool, held if alone else []):
        if len(found) == 1:
            return found[0]
    return ""


def _is_one_of_its_form(name: str, held: Sequence[str], record: Mapping[Any, Any]) -> bool:
    """Whether no other identifier of a record is written like this one: letters as letters, digits as digits."""
    forms = [re.sub(r"[a-z]", "a", re.sub(r"\d", "0", str(record[each]).casefold())) for each in held]
    return forms.count(forms[held.index(name)]) == 1


def _ends(called: str, noun: str) -> bool:
    """Whether a name ends with a noun, in the singular or the plural: ``searchSupplierInvoices`` with ``invoice``."""
    own, wanted = _words(called), _words(noun)
    return bool(wanted) and own[-len(wanted) :] == wanted


def _words(name: str) -> list[str]:
    parts = words(name)
    return [*parts[:-1], noun_lemma(parts[-1])] if parts else []
