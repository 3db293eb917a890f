"""Rows of a query as JSON values: bounded, without what an engine keeps for itself."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from planners.stores.property_graph import QueryRows

__all__ = ["json_value", "python_rows"]

_COLUMN = "result"


def python_rows(result: object, most: int) -> QueryRows:
    """Return the result of Python as rows: a list of dictionaries with equal keys has these as columns.

    :param most: rows; of more the first stand.
    """
    items = list(result) if isinstance(result, list | tuple) else [result]
    items, cut = items[:most], len(items) > most
    first = items[0] if items else None
    columns: tuple[str, ...]
    if isinstance(first, Mapping) and all(isinstance(item, Mapping) and list(item) == list(first) for item in items):
        columns = tuple(str(name) for name in first)
        found: list[Sequence[object]] = [list(item.values()) for item in items if isinstance(item, Mapping)]
    elif isinstance(first, list | tuple) and all(
        isinstance(item, list | tuple) and len(item) == len(first) for item in items
    ):
        columns = tuple(f"{_COLUMN}{at + 1}" for at in range(len(first)))
        found = [item for item in items if isinstance(item, list | tuple)]
    else:
        columns = (_COLUMN,)
        found = [[item] for item in items]
    return QueryRows(columns=columns, rows=tuple(tuple(map(json_value, row)) for row in found), cut=cut)


def json_value(value: Any) -> object:  # whatever an engine gives
    """Return a value of an engine as a JSON value; times as ISO 8601, what is no JSON value as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): json_value(member) for name, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_value(member) for member in value]
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, uuid.UUID):
        return str(value)
    return str(value)
