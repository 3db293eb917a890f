"""From the rows of a query to the answer: what Python is to compute of them, and how the result is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from planners.kgot.asked import Asked

__all__ = ["final_text", "maths_code"]

_COMPUTED = re.compile(r"^Computed: (.+)$", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
_DIGITS = Decimal("0.0000000001")  # sums of numbers with a point err behind the twelfth digit


def maths_code(asked: Asked, partial: str) -> str | None:
    """Return Python that prints what is left to compute: an expression, a share, a difference; None where nothing is.

    :param partial: rows as a JSON list of objects by column.
    """
    row = next(iter(_rows(partial)), {})
    if asked.expression and "expression" in row:
        exact = _NUMBER.sub(lambda number: f"Decimal({number[0]!r})", asked.expression)
        return f"from decimal import Decimal\nprint({exact})\n"
    numbers = [value for value in row.values() if isinstance(value, int | float)]
    if not asked.combination or len(numbers) != 2:
        return None
    first, second = (f"Decimal({str(number)!r})" for number in numbers)
    if asked.combination == "share":
        return f"from decimal import Decimal\nprint(100 * {first} / {second})\n" if numbers[1] else None
    return f"from decimal import Decimal\nprint(abs({first} - {second}))\n"


def final_text(asked: Asked, partial: str) -> str | None:
    """Return the answer: a number, or what was found, separated by commas; None where nothing was.

    :param partial: rows, and below them what was computed, if anything was.
    """
    computed = _COMPUTED.search(partial)
    if computed:
        return _said(computed[1].strip(), asked.decimals)
    if asked.combination or asked.expression:  # half of a sum is no answer
        return None
    values = [value for row in _rows(partial) if (value := next(iter(row.values()), None)) not in (None, "")]
    if not all(_is_number(each) for each in values):  # two things may have the same number, and both are asked for
        values = list(dict.fromkeys(values))
    if asked.in_order:
        values.sort(key=_place(values), reverse=asked.descending)
    return ", ".join(_said(value, asked.decimals) for value in values) or None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _place(values: Sequence[Any]) -> Callable[[Any], Any]:
    """Return by what values are sorted: numbers by value, others by their letters."""
    return float if all(map(_is_number, values)) else lambda value: str(value).casefold()


def _rows(partial: str) -> Sequence[dict[str, Any]]:
    try:
        held = json.loads(partial.partition("\n")[0])
    except ValueError:
        return ()
    return [each for each in held if isinstance(each, dict)] if isinstance(held, list) else ()


def _said(value: Any, decimals: int | None) -> str:
    """Return a value as it is written: of a number without trailing zeros, rounded half up where so many digits are asked for."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and not re.fullmatch(r"-?\d+\.\d+|-?\d+(?:\.\d+)?E[+-]?\d+", value):
        return value
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return str(value)
    step = Decimal(1).scaleb(-decimals) if decimals is not None else _DIGITS
    plain = f"{number.quantize(step, ROUND_HALF_UP):f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
