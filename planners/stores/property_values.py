"""Names and values that every store keeps: what is checked before a graph changes, and when two values are equal."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ontology.errors import StatementError
from planners.stores.property_graph import Properties, Value

__all__ = [
    "check_characters",
    "checked_name",
    "checked_properties",
    "checked_value",
    "has_properties",
    "value_key",
]

MAX_TEXT = 1_000_000
"""Characters of one text value: chosen as ten times the longest page that ``inspect_file`` gives in our tests."""
MAX_LIST = 10_000
"""Members of one list: chosen as what Bolt and SPARQL each wrote in under a second in our tests."""
MAX_NAME = 256
"""Characters of a label, type or property name: no name of our catalogues has more than 80."""
_INT64 = range(-(2**63), 2**63)


def checked_name(name: object, what: str) -> str:
    """Return a label, a type or the name of a property.

    :raises StatementError: when it is no text, empty, too long, or holds a character that no store takes.
    """
    if not isinstance(name, str) or not name.strip():
        raise StatementError(f"{what} is not a text with at least one character", subject=what, remedy="Give it a name")
    if len(name) > MAX_NAME:
        raise StatementError(
            f"{what} has more than {MAX_NAME} characters", subject=name[:40], remedy="Give a shorter name"
        )
    check_characters(name, what)
    return name


def checked_properties(properties: Mapping[str, object]) -> dict[str, Value]:
    """Return properties in the order of their names; what has no value has no property.

    :raises StatementError: when a name or a value is none that stores keep.
    """
    return {
        checked_name(name, "the name of a property"): checked_value(value, name)
        for name, value in sorted(properties.items(), key=lambda item: str(item[0]))
        if value is not None
    }


def checked_value(value: object, name: str) -> Value:
    """Return a value as stores keep it: lists as tuples, -0.0 as 0.0.

    :raises StatementError: when it is no scalar or list of scalars of one type, or too large.
    """
    if not isinstance(value, list | tuple):
        return _checked_scalar(value, name)
    if len(value) > MAX_LIST:
        raise _unfit(name, f"a list of more than {MAX_LIST} values")
    members = tuple(_checked_scalar(member, name) for member in value)
    kinds = {type(member) for member in members}
    if kinds == {int, float}:
        return tuple(float(member) for member in members)
    if len(kinds) > 1:
        raise _unfit(name, "a list of values of several types")
    return members


def _checked_scalar(value: object, name: str) -> str | int | float | bool:
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise _unfit(name, f"a text of more than {MAX_TEXT:,} characters")
        check_characters(value, f"the value of {name}")
        return str(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value not in _INT64:
            raise _unfit(name, "an integer of more than 64 bits")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _unfit(name, "a number that is not finite")
        return float(value) or 0.0
    raise _unfit(name, f"a value of the type {type(value).__name__}")


def _unfit(name: str, what: str) -> StatementError:
    remedy = "Give a text, a number, true or false, or a list of one of these"
    return StatementError(f"a property has {what}", subject=str(name)[:80], remedy=remedy)


def check_characters(text: str, what: str) -> None:
    """Check that a text is one of Unicode: engines take no half of a character, and tell of their own insides where one comes.

    :param what: it is, for the error.
    :raises StatementError: when a character is none, or is NUL.
    """
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text if character > "\ud7ff"):
        raise StatementError(
            f"{what} holds a character that is none of Unicode text", subject=what, remedy="Leave it out"
        )


def equal_values(one: Value, other: Value) -> bool:
    """Say whether two values are equal as in Cypher and SPARQL: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        if not (isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other)):
            return False
        return all(equal_values(first, second) for first, second in zip(one, other, strict=True))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def has_properties(properties: Properties, wanted: Properties) -> bool:
    """Say whether all the wanted properties are among those."""
    return all(name in properties and equal_values(properties[name], value) for name, value in wanted.items())


def value_key(value: Value) -> tuple[object, ...]:
    """Return a key that orders values, and tells those of different types apart."""
    if isinstance(value, tuple):
        return ("list", *(value_key(member) for member in value))
    return (type(value).__name__, value)
