"""``join``: rows of two tables side by side where a column of each is equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.table_arguments import (
    COLUMN,
    MOST_ROWS,
    column_place,
    column_sql,
    stored,
    type_family,
)
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Result
from planners.graphseek.results.table_filling import TableQuery

__all__ = ["OPERATOR"]


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    left, right = (stored(context, arguments[side], "table") for side in ("left", "right"))
    on = column_place(left, arguments["left_on"]), column_place(right, arguments["right_on"])
    _check_types(left, right, on)
    how = arguments.get("how", "inner")
    taken = [at for at in range(len(right.columns)) if at != on[1] and how != "anti"]
    query = TableQuery(
        columns=(*left.columns, *(right.columns[at] for at in taken)),
        text=_text(left, right, on, taken, how),
        of=(left.handle, right.handle),
    )
    title = f"{how} join of {left.handle} and {right.handle} on {arguments['left_on']} = {arguments['right_on']}"
    return await context.results.keep_query(query, title=title, most=MOST_ROWS)


def _text(left: Result, right: Result, on: tuple[int, int], taken: Sequence[int], how: str) -> str:
    a, b = column_sql(on[0]), column_sql(on[1])
    if how == "anti":
        partners = f'SELECT {b} FROM "{right.handle}" WHERE {b} IS NOT NULL'
        return f'SELECT * FROM "{left.handle}" WHERE {a} IS NULL OR {a} NOT IN ({partners}) ORDER BY rowid'
    selected = ", ".join(["l.*", *(f"r.{column_sql(at)}" for at in taken)])
    join = (
        "LEFT JOIN" if how == "left" else "CROSS JOIN"
    )  # SQLite does not turn a cross join round: the order is the left one's
    tables = f'"{left.handle}" AS l {join} "{right.handle}" AS r ON l.{a} = r.{b}'
    return f"SELECT {selected} FROM {tables} ORDER BY l.rowid"  # not of partners too: all pairs would be sorted first


def _check_types(left: Result, right: Result, on: tuple[int, int]) -> None:
    one, other = left.columns[on[0]], right.columns[on[1]]
    if type_family(one) == type_family(other):
        return
    fitting = [each.name for each in right.columns if type_family(each) == type_family(one)]
    raise OperatorFault(
        "arguments",
        f"{one.name} of {left.handle} is of type {one.type}, {other.name} of {right.handle} of type {other.type}",
        f"Columns of {right.handle} that fit {one.name}: {', '.join(fitting) or 'none'}",
    )


OPERATOR: Operator = TypedOperator(
    name="join",
    group="retrieval",
    description=(
        "Put rows of two tables side by side where left_on equals right_on: inner keeps pairs, left also keeps left rows without a "
        "partner, anti keeps only left rows without one. Columns of the right table that have a name of the left one become name_2."
    ),
    forms=lambda forms: {
        "left": forms.handle("t"),
        "right": forms.handle("t"),
        "left_on": COLUMN,
        "right_on": COLUMN,
        "how": {"type": "string", "enum": ["inner", "left", "anti"]},
    },
    required=("left", "right", "left_on", "right_on"),
    runs=_run,
)
