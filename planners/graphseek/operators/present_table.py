"""``table``: show a table to the person who asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planners.graphs.graph_schema import GraphSchema
from planners.graphseek.operators.operator import Group, Operator, OperatorContext
from planners.graphseek.operators.table_arguments import (
    COLUMNS,
    TITLE,
    column_place,
    handle_schema,
    object_schema,
    stored,
)
from planners.graphseek.results.result import Presentation, Result

__all__ = ["OPERATOR"]


class _Table:
    name = "table"
    group: Group = "presentation"
    description = "Show a table that is a result to the person: all its columns, or some in this order."

    def parameters(self, schema: GraphSchema, handles: Sequence[str]) -> dict[str, Any]:
        return object_schema(["handle"], handle=handle_schema(handles, "t"), columns=COLUMNS, title=TITLE)

    async def run(self, arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        found = stored(context, arguments["handle"], "table")
        columns = tuple(found.columns[column_place(found, each)].name for each in arguments.get("columns", ()))
        shown = Presentation(
            kind="table",
            of=found.handle,
            title=arguments.get("title", ""),
            options={"columns": columns} if columns else {},
        )
        return await context.results.keep_presentation(shown)


OPERATOR: Operator = _Table()
