"""Types of Ladybug's columns, and how values stand in a column of another type."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

from planners.graphs.property_graph import Scalar, Value

__all__ = ["ColumnType", "column_value", "joined_type", "kept_value", "natural_type", "shown_text"]

ColumnType: TypeAlias = Literal["BOOL", "INT64", "DOUBLE", "STRING", "BOOL[]", "INT64[]", "DOUBLE[]", "STRING[]", "[]"]
"""``[]`` is an empty list: a list of any type."""

_SCALARS: dict[type, ColumnType] = {bool: "BOOL", int: "INT64", float: "DOUBLE", str: "STRING"}
_LISTS: dict[type, ColumnType] = {bool: "BOOL[]", int: "INT64[]", float: "DOUBLE[]", str: "STRING[]"}


def natural_type(value: Value) -> ColumnType:
    """Return the type of the column that holds a value as it is."""
    if isinstance(value, tuple):
        return _LISTS[type(value[0])] if value else "[]"
    return _SCALARS[type(value)]


def joined_type(one: ColumnType | None, other: ColumnType | None) -> ColumnType | None:
    """Return the narrowest type that holds values of both; None: no value is known."""
    if one is None or other is None or one == other:
        return one or other
    if {one, other} == {"INT64", "DOUBLE"}:
        return "DOUBLE"
    if not (one.endswith("[]") and other.endswith("[]")):
        return "STRING"
    if "[]" in (one, other):
        return other if one == "[]" else one
    return "DOUBLE[]" if {one, other} == {"INT64[]", "DOUBLE[]"} else "STRING[]"


def column_value(value: Value, type_: ColumnType) -> Any:
    """Return what stands in a column of a type for a value; queries see this."""
    if isinstance(value, tuple):
        if not type_.endswith("[]"):
            return shown_text(value)
        return [_scalar(member, type_[:-2]) for member in value]
    return _scalar(value, type_)


def _scalar(value: Scalar, type_: str) -> Scalar:
    if type_ == "DOUBLE":
        return float(value)
    return shown_text(value) if type_ == "STRING" else value


def shown_text(value: Value) -> str:
    """Return a value as text, as Ladybug's own cast has it: ``True``, ``3``, ``[1,2]``."""
    if isinstance(value, tuple):
        return json.dumps(list(value), ensure_ascii=False, separators=(",", ":"))
    return value if isinstance(value, str) else str(value)


def kept_value(raw: Any) -> Value:
    """Return a value of a column as a property has it."""
    return tuple(raw) if isinstance(raw, list) else raw
