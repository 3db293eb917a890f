"""``graph``: draw a graph for the person who asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.table_arguments import TITLE, stored
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Presentation, Result

__all__ = ["OPERATOR"]


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    found = stored(context, arguments["handle"], "table", "graph")
    if found.kind == "table":
        raise OperatorFault("arguments", f"{found.handle} is a table", "Take to_graph first, or show it with table")
    shown = Presentation(kind="graph", of=found.handle, title=arguments.get("title", ""))
    return await context.results.keep_presentation(shown)


OPERATOR: Operator = TypedOperator(
    name="graph",
    group="presentation",
    description="Draw a graph that is a result (of paths, subgraph, blueprints, to_graph) for the person.",
    forms=lambda forms: {"handle": forms.handle("g"), "title": TITLE},
    required=("handle",),
    runs=_run,
)
