"""The first error that pydantic found in a file, as a short text for our own errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["first_error"]

_MAX_SHOWN = 80


def first_error(error: ValidationError, *, show_value: bool = True) -> str:
    """Return the field, its value where it is short, and what is wrong with it.

    :param show_value: False for a file of secrets.
    """
    first = error.errors(include_url=False, include_context=False)[0]
    field = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":  # its input is the whole object that lacks it
        return f"{field!r} is missing"
    message = first["msg"].removeprefix("Value error, ")
    if not show_value:
        return f"{field!r}: {message}" if field else message
    value = repr(first["input"])
    shown = value if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]}…"
    return f"{field!r} is {shown}: {message}" if field else message
