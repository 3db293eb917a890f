"""``table``: show a table to the person who asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.graphseek.operators.operator import Operator, OperatorContext
from planners.graphseek.operators.table_arguments import (
    COLUMNS,
    TITLE,
    column_place,
    stored,
)
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Presentation, Result

__all__ = ["OPERATOR"]


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    found = stored(context, arguments["handle"], "table")
    columns = tuple(found.columns[column_place(found, each)].name for each in arguments.get("columns", ()))
    shown = Presentation(
        kind="table",
        of=found.handle,
        title=arguments.get("title", ""),
        options={"columns": columns} if columns else {},
    )
    return await context.results.keep_presentation(shown)


OPERATOR: Operator = TypedOperator(
    name="table",
    group="presentation",
    description="Show a table that is a result to the person: all its columns, or some in this order.",
    forms=lambda forms: {"handle": forms.handle("t"), "columns": COLUMNS, "title": TITLE},
    required=("handle",),
    runs=_run,
)
