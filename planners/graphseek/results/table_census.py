"""What a summary says of the columns of a table, counted while the table is written."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from planners.graphseek.results.result import Cell, ResultColumn

__all__ = ["MOST_DISTINCT", "ColumnCensus", "TableCensus"]

_HEAD = 25
"""Rows of the beginning that are kept for the summary: a grouped count of a few dozen groups fits whole."""
TAIL = 5
MOST_DISTINCT = 1_000
"""Different values are counted up to here: a set of them is what a census costs in memory."""
_LONG = 256  # characters; of longer strings the set holds a hash
_MOST_INTEGER = 2**63 - 1  # of SQLite
_NUMBER_BYTES = 9  # of a number in SQLite, with its type
_FITTING: dict[str, frozenset[type]] = {
    "integer": frozenset({int, type(None)}),
    "number": frozenset({int, float, type(None)}),
    "boolean": frozenset({bool, type(None)}),
}
Values: TypeAlias = Sequence[Any]


class ColumnCensus:
    """Of one column.

    :ivar count: cells with a value.
    :ivar least: None where there is no value.
    :ivar lost: cells that were no value of the column's type, and are empty in the table.
    """

    def __init__(self, column: ResultColumn) -> None:
        self.column = column
        self.count = 0
        self.least: Any = None
        self.greatest: Any = None
        self.lost = 0
        self._distinct: set[Any] | None = set()

    @property
    def distinct(self) -> int | None:
        """How many different values; None where there are more than :data:`MOST_DISTINCT`."""
        return None if self._distinct is None else len(self._distinct)

    def add(self, cells: Values) -> tuple[Values, int]:
        """Count cells. Return them as they are stored, and their size in bytes."""
        is_text = self.column.type in ("string", "node")
        cells, values, size = self._fitting_texts(cells) if is_text else self._fitting(cells)
        if not values:
            return cells, len(cells)
        self.count += len(values)
        different = values if self._distinct is None else set(values)
        least, greatest = min(different), max(different)
        self.least = least if self.least is None else min(self.least, least)
        self.greatest = greatest if self.greatest is None else max(self.greatest, greatest)
        if self._distinct is not None and len(different) > MOST_DISTINCT:
            self._distinct = None
        if self._distinct is not None:
            long = is_text and size > _LONG and max(map(len, different)) > _LONG
            self._distinct.update(
                (v if len(v) <= _LONG else (len(v), hash(v)) for v in different) if long else different
            )
            if len(self._distinct) > MOST_DISTINCT:
                self._distinct = None
        return cells, size + 2 * len(cells) if is_text else _NUMBER_BYTES * len(cells)

    def _fitting_texts(self, cells: Values) -> tuple[Values, Values, int]:
        """Return cells as they are stored, those with a value, and the characters of these. One text of them all tells whether they fit."""
        values: Values = [cell for cell in cells if cell is not None] if None in cells else cells
        try:
            joined = "".join(values)
            if not joined.isascii():
                joined.encode()
        except (TypeError, UnicodeEncodeError):
            cells = self._as_types(cells)
            values = [cell for cell in cells if cell is not None]
            joined = "".join(values)
        return cells, values, len(joined)

    def _fitting(self, cells: Values) -> tuple[Values, Values, int]:
        kinds = set(map(type, cells))
        values: Values = [cell for cell in cells if cell is not None] if type(None) in kinds else cells
        if not (kinds <= _FITTING[self.column.type] and _storable(self.column.type, values)):
            cells = self._as_types(cells)
            values = [cell for cell in cells if cell is not None]
        return cells, values, 0

    def _as_types(self, cells: Values) -> Values:
        stored = [None if cell is None else _as_type(self.column.type, cell) for cell in cells]
        self.lost += sum(new is None and old is not None for new, old in zip(stored, cells, strict=True))
        return stored


class TableCensus:
    """Of a table.

    :ivar size: bytes of the cells, about.
    :ivar head: the first rows.
    :ivar tail: the last rows; some may be in the head too.
    """

    def __init__(self, columns: Sequence[ResultColumn]) -> None:
        self.columns = [ColumnCensus(each) for each in columns]
        self.rows = 0
        self.size = 0
        self.head: list[tuple[Cell, ...]] = []
        self.tail: deque[tuple[Cell, ...]] = deque(maxlen=TAIL)

    def add(self, rows: Sequence[tuple[Cell, ...]]) -> Sequence[tuple[Cell, ...]]:
        """Count rows, and return them as they are stored."""
        by_column, as_given = [], True
        for census, cells in zip(self.columns, zip(*rows, strict=True), strict=True):
            stored, size = census.add(cells)
            self.size += size
            by_column.append(stored)
            as_given = as_given and stored is cells
        stored_rows = rows if as_given else list(zip(*by_column, strict=True))
        self.rows += len(rows)
        self.head += map(_preview, stored_rows[: _HEAD - len(self.head)])
        self.tail.extend(map(_preview, stored_rows[-TAIL:]))
        return stored_rows


def _preview(row: Iterable[Cell]) -> tuple[Cell, ...]:
    return tuple(cell[: _LONG + 1] if isinstance(cell, str) else cell for cell in row)


def _storable(kind: str, values: Values) -> bool:
    """Whether SQLite takes values whose Python type is right: no infinities, integers of 64 bits."""
    if not values or kind == "boolean":
        return True
    try:
        total = sum(values)
        return (
            -_MOST_INTEGER <= min(values) and max(values) <= _MOST_INTEGER and bool(total == total)
        )  # not so for a NaN
    except OverflowError:
        return False


def _as_type(kind: str, cell: Any) -> Cell:
    """Return a cell as the column can hold it; None where it cannot."""
    if kind in ("string", "node"):
        text = cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False, default=str)
        return text.encode(errors="replace").decode()
    if kind == "boolean":
        return bool(cell) if cell in (0, 1) else None
    if not isinstance(cell, int | float):
        return None
    if isinstance(cell, int) and abs(cell) <= _MOST_INTEGER:
        return int(cell)
    try:
        return float(cell) if math.isfinite(cell) else None
    except OverflowError:
        return None
