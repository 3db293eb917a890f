"""Text of a file as a value of a column."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping

from planners.stores.loading.loaded_tables import ColumnType

__all__ = ["CELL_READERS"]


def _number(cell: str) -> float:
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError
    return value


def _integer(cell: str) -> int:
    value = int(cell)
    if not -(2**63) <= value < 2**63:
        raise ValueError
    return value


def _boolean(cell: str) -> bool:
    value = {"true": True, "false": False}.get(cell.lower())
    if value is None:
        raise ValueError
    return value


def _date(cell: str) -> str:
    return datetime.date.fromisoformat(cell).isoformat()


CELL_READERS: Mapping[ColumnType, Callable[[str], object]] = {
    "string": str,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
"""Type of a column → what reads its text; it raises ValueError where the text is no such value."""
