"""The first error that pydantic found in a file, as a short text for our own errors."""

from __future__ import annotations

from reprlib import Repr
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["first_error"]

_MAX_SHOWN = 80
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 2 * _MAX_SHOWN
_SHORT.maxlist = _SHORT.maxdict = _SHORT.maxtuple = _SHORT.maxset = 10


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
    shown = _SHORT.repr(first["input"])  # of a value of any size, in a time that does not grow with it
    shown = shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"
    return f"{field!r} is {shown}: {message}" if field else message
