"""Filters on the rows of a table: their JSON schema, and the condition that SQLite gets; values are parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.operators.property_filter import filter_schema
from planners.graphseek.operators.table_arguments import COLUMN, column_place, column_sql, is_numeric
from planners.graphseek.results.result import Cell, Result, ResultColumn

__all__ = ["FILTERS", "condition", "on_equal_float", "shown_filters"]

_COMPARED = ("=", "!=", "<", "<=", ">", ">=")
_TEXT = {
    "contains": "instr(folded({cell}), folded(?)) > 0",
    "starts_with": "substr(folded({cell}), 1, length(folded(?))) = folded(?)",
    "ends_with": (
        "length(folded({cell})) >= length(folded(?)) "
        "AND substr(folded({cell}), length(folded({cell})) - length(folded(?)) + 1) = folded(?)"
    ),
}
_NULLS = {"is_null": "{cell} IS NULL", "is_not_null": "{cell} IS NOT NULL"}
FILTERS: dict[str, Any] = {
    "type": "array",
    "description": "all must hold",
    "items": filter_schema(COLUMN),
}


def condition(table: Result, filters: Sequence[Mapping[str, Any]]) -> tuple[str, list[Cell]]:
    """Return a condition on the rows of a table, empty where there are no filters, and its parameters.

    :raises OperatorFault: when a column does not exist, or a value is not of its type.
    """
    tests: list[str] = []
    parameters: list[Cell] = []
    for each in filters:
        at = column_place(table, each["key"])
        test, values = _test(table.columns[at], column_sql(at), each)
        tests.append(f"({test})")
        parameters += values
    return (f" WHERE {' AND '.join(tests)}" if tests else ""), parameters


def on_equal_float(table: Result, filters: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a filter asks for numbers equal to one with a fraction: what is shown rounded is equal to nothing."""
    types = {each.name: each.type for each in table.columns}
    return any(
        each["operator"] == "=" and types[each["key"]] == "number" and float(each["value"]) % 1 != 0 for each in filters
    )


def shown_filters(filters: Sequence[Mapping[str, Any]]) -> str:
    """Return filters as a title shows them."""
    return " and ".join(f"{f['key']} {f['operator']} {f.get('value', '')}".strip() for f in filters)


def _test(column: ResultColumn, cell: str, wanted: Mapping[str, Any]) -> tuple[str, list[Cell]]:
    operator, value = wanted["operator"], wanted.get("value")
    if operator in _NULLS:
        return _NULLS[operator].format(cell=cell), []
    if operator == "in":
        values = value if isinstance(value, list | tuple) else [value]
        members = [_value(column, each) for each in values]
        return f"{cell} IN ({', '.join('?' * len(members))})", members
    if operator in _COMPARED:
        return f"{cell} {operator.replace('!=', '<>')} ?", [_value(column, value)]
    if column.type not in ("string", "node") or not isinstance(value, str):
        raise OperatorFault(
            "arguments", f"{operator} is for texts; {column.name} is of type {column.type}", "Compare with =, < or >"
        )
    test = _TEXT[operator].format(cell=cell)
    return test, [value] * test.count("?")


def _value(column: ResultColumn, value: object) -> Cell:
    """Return a value as the cells of a column are."""
    if is_numeric(column):
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63:
            return value
        if isinstance(value, str):
            try:
                return float(value)
            except ValueError:
                pass
    elif column.type == "boolean":
        if str(value).casefold() in ("true", "false"):
            return str(value).casefold() == "true"
    elif isinstance(value, str):
        return value
    raise OperatorFault(
        "arguments",
        f"{column.name} is of type {column.type}, the value {str(value)[:40]!r} is not",
        f"Give a value of type {column.type}, or take another column",
    )
