"""Rows whose types are known only when they are there: of queries that somebody else wrote, and of properties of a graph."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from planners.graphseek.results.result import Cell, ColumnType, ResultColumn

__all__ = ["cell_of", "column_of"]


def column_of(name: str, values: Sequence[Any]) -> ResultColumn:
    """Return a column with the one type that all its values have; texts of JSON otherwise."""
    labels = {str(each["label"]) for each in values if _is_node(each)}
    if labels and all(each is None or _is_node(each) for each in values):
        return ResultColumn(name=name, type="node", node_type=labels.pop() if len(labels) == 1 else "")
    kinds = {_kind(each) for each in values if each is not None}
    if kinds == {"integer", "number"}:
        return ResultColumn(name=name, type="number")
    return ResultColumn(name=name, type=kinds.pop() if len(kinds) == 1 else "string")


def cell_of(value: Any, column: ResultColumn) -> Cell:
    """Return a value as a cell of a column that :func:`column_of` made of it."""
    if value is None:
        return None
    if column.type == "node":
        return str(value["id"])
    if column.type != "string":
        return value if column.type != "number" else float(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _kind(value: object) -> ColumnType:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "number" if isinstance(value, float) else "string"


def _is_node(value: Any) -> bool:
    return isinstance(value, Mapping) and "id" in value and "label" in value
