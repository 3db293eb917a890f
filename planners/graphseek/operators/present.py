"""Operators that show a result to the person who asked."""

from __future__ import annotations

from planners.graphseek.operators.operator import (
    COLUMN,
    Arguments,
    OperatorContext,
    OperatorFault,
    choice,
    operator,
)
from planners.graphseek.operators.pattern import NUMERIC, column_place, stored
from planners.graphseek.results.result import Presentation, Result

_NUMBERS = {"bar": ("y",), "line": ("y",), "scatter": ("x", "y"), "histogram": ("x",)}  # which must be numbers


@operator("handle* columns title", group="presentation", handle=lambda forms: forms.handle("t"))
async def table(arguments: Arguments, context: OperatorContext) -> Result:
    """Show a table that is a result to the person: all its columns, or some in this order."""
    found = stored(context, arguments["handle"], "table")
    columns = tuple(found.columns[column_place(found, each)].name for each in arguments.get("columns", ()))
    options = {"columns": columns} if columns else {}
    shown = Presentation(kind="table", of=found.handle, title=arguments.get("title", ""), options=options)
    return await context.results.keep_presentation(shown)


@operator("handle* title", group="presentation", handle=lambda forms: forms.handle("g"))
async def graph(arguments: Arguments, context: OperatorContext) -> Result:
    """Draw a graph that is a result (of paths or subgraph) for the person."""
    found = stored(context, arguments["handle"], "table", "graph")
    if found.kind == "table":
        raise OperatorFault(
            "arguments", f"{found.handle} is a table", "Take subgraph with max_hops 0 first, or show it with table"
        )
    shown = Presentation(kind="graph", of=found.handle, title=arguments.get("title", ""))
    return await context.results.keep_presentation(shown)


@operator(
    "handle* kind* x* y title",
    group="presentation",
    handle=lambda forms: forms.handle("t"),
    kind=choice(*_NUMBERS),
    x=COLUMN,
    y=COLUMN,
)
async def chart(arguments: Arguments, context: OperatorContext) -> Result:
    """Draw a chart of a table that is a result: bar, line or scatter of y over x, or a histogram of x. y is a column of numbers."""
    found, kind = stored(context, arguments["handle"], "table"), arguments["kind"]
    named = {axis: arguments[axis] for axis in ("x", "y") if arguments.get(axis)}
    numeric = [each.name for each in found.columns if each.type in NUMERIC]
    hint = f"Columns of numbers are: {', '.join(numeric) or 'none'}"
    for axis in _NUMBERS[kind]:
        if axis not in named:
            raise OperatorFault("arguments", f"A {kind} chart needs {axis}", hint)
        if found.columns[column_place(found, named[axis])].type not in NUMERIC:
            raise OperatorFault("arguments", f"{named[axis]} is no column of numbers", hint)
    column_place(found, named["x"])
    options = {"x": named["x"]} if kind == "histogram" else named
    shown = Presentation(kind=kind, of=found.handle, title=arguments.get("title", ""), options=options)
    return await context.results.keep_presentation(shown)
