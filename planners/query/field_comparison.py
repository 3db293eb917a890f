"""How a value that an entity carries is compared with that of a filter."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["compare"]

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def compare(value: Any, op: str, wanted: str | int | float | bool) -> bool:
    """Whether ``value op wanted`` holds: by number where both are numbers, else by text without regard to case and to blanks at its ends.

    :param op: ``contains``, ``=``, ``<``, ``>``, ``<=`` or ``>=``.
    """
    number, limit = _number(value), _number(wanted)
    if op != "contains" and number is not None and limit is not None:
        return _COMPARED[op](number, limit)
    text, other = str(value).strip().casefold(), str(wanted).strip().casefold()
    return other in text if op == "contains" else _COMPARED[op](text, other)


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):  # the latter of an integer of 310 digits
        return None
