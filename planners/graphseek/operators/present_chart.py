"""``chart``: draw columns of a table for the person who asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.table_arguments import (
    COLUMN,
    TITLE,
    column_place,
    is_numeric,
    stored,
)
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Presentation, Result

__all__ = ["OPERATOR"]

_NUMBERS = {"bar": ("y",), "line": ("y",), "scatter": ("x", "y"), "histogram": ("x",)}  # which must be numbers


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    found = stored(context, arguments["handle"], "table")
    kind = arguments["kind"]
    named = {axis: arguments[axis] for axis in ("x", "y") if arguments.get(axis)}
    numeric = [each.name for each in found.columns if is_numeric(each)]
    hint = f"Columns of numbers are: {', '.join(numeric) or 'none'}"
    for axis in _NUMBERS[kind]:
        if axis not in named:
            raise OperatorFault("arguments", f"A {kind} chart needs {axis}", hint)
        if not is_numeric(found.columns[column_place(found, named[axis])]):
            raise OperatorFault("arguments", f"{named[axis]} is no column of numbers", hint)
    column_place(found, named["x"])
    if kind == "histogram":
        named = {"x": named["x"]}
    shown = Presentation(kind=kind, of=found.handle, title=arguments.get("title", ""), options=named)
    return await context.results.keep_presentation(shown)


OPERATOR: Operator = TypedOperator(
    name="chart",
    group="presentation",
    description="Draw a chart of a table that is a result: bar, line or scatter of y over x, or a histogram of x. y is a column of numbers.",
    forms=lambda forms: {
        "handle": forms.handle("t"),
        "kind": {"type": "string", "enum": list(_NUMBERS)},
        "x": COLUMN,
        "y": COLUMN,
        "title": TITLE,
    },
    required=("handle", "kind", "x"),
    runs=_run,
)
