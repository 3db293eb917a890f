"""Rows written as the CSV that Ladybug copies: text in quotes, nothing at all for no value."""

from __future__ import annotations

import csv
import datetime
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ontology.errors import DocumentError
from planners.stores.loading.loaded_tables import ColumnType

__all__ = ["row_number", "write_rows"]

_BATCH_ROWS = 5_000
"""Rows that are turned into text at once; more were no faster."""
_QUOTED = ("string", "date")
_EXACT: Mapping[ColumnType, frozenset[type]] = {
    "string": frozenset({str}),
    "date": frozenset({str, datetime.date}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
}


def write_rows(path: Path, rows: Iterable[Sequence[object]], types: Sequence[ColumnType], subject: str) -> int:
    """Write a file, and return how many rows it has.

    :raises DocumentError: when a row has not as many values as there are columns, or one has another type.
    """
    written = 0
    remaining = iter(rows)
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        while batch := list(itertools.islice(remaining, _BATCH_ROWS)):
            try:
                file.write(_text_of_batch(batch, types))
            except (ValueError, TypeError, AttributeError):
                raise _fault(batch, types, written, subject) from None
            written += len(batch)
    return written


def row_number(path: Path, is_found: Callable[[Sequence[str]], bool]) -> int | None:
    """Return the number, from 1, of the first row in a written file for which this holds."""
    with path.open(encoding="utf-8", newline="") as file:
        return next((at for at, row in enumerate(csv.reader(file), 1) if is_found(row)), None)


def _text_of_batch(batch: Sequence[Sequence[object]], types: Sequence[ColumnType]) -> str:
    """Return rows as CSV.

    All at once where no value is missing and none has a quote, which takes a fifth of the time of a COPY; else column by column.
    """
    columns = list(zip(*batch, strict=True))
    if all(set(map(type, column)) <= _EXACT[type_] for column, type_ in zip(columns, types, strict=True)):
        row = ",".join('"%s"' if type_ in _QUOTED else "%s" for type_ in types) + "\n"
        text = (row * len(batch)) % tuple(itertools.chain.from_iterable(batch))
        if text.count('"') == row.count('"') * len(batch):
            return text
    texts = [_text_of(column, type_) for column, type_ in zip(columns, types, strict=True)]
    return "\n".join(map(",".join, zip(*texts, strict=True))) + "\n"


def _text_of(values: Sequence[object], type_: ColumnType) -> Iterator[str]:
    """Return the values of a column as CSV has them.

    :raises TypeError: when one is of another type.
    """
    if type_ in _QUOTED:
        texts = [
            None if value is None else value if isinstance(value, str) else _as_text(value, type_) for value in values
        ]
        return ("" if text is None else f'"{text}"' if '"' not in text else _quoted(text) for text in texts)
    allowed = {"integer": (int,), "number": (int, float), "boolean": (bool,)}[type_]
    if not all(value is None or isinstance(value, allowed) for value in values):
        raise TypeError
    return ("" if value is None else str(value) for value in values)


def _as_text(value: object, type_: ColumnType) -> str:
    if type_ == "date" and hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise TypeError


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _fault(batch: Sequence[Sequence[object]], types: Sequence[ColumnType], before: int, subject: str) -> DocumentError:
    """Return the error of the first row that is at fault."""
    for at, row in enumerate(batch, before + 1):
        if len(row) != len(types):
            return DocumentError(
                f"row {at} has {len(row)} values for {len(types)} columns", subject=subject, reason="wrong-columns"
            )
        for value, type_ in zip(row, types, strict=True):
            try:
                list(_text_of([value], type_))
            except (TypeError, AttributeError):
                return DocumentError(
                    f"row {at} has {str(value)[:40]!r} in a column of type {type_}",
                    subject=subject,
                    reason="wrong-type",
                )
    return DocumentError("the rows cannot be read", subject=subject)
