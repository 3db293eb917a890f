"""``graph``: draw a graph for the person who asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planners.graphs.graph_schema import GraphSchema
from planners.graphseek.operators.operator import Group, Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.table_arguments import TITLE, handle_schema, object_schema, stored
from planners.graphseek.results.result import Presentation, Result

__all__ = ["OPERATOR"]


class _Graph:
    name = "graph"
    group: Group = "presentation"
    description = "Draw a graph that is a result (of paths, subgraph, blueprints, to_graph) for the person."

    def parameters(self, schema: GraphSchema, handles: Sequence[str]) -> dict[str, Any]:
        return object_schema(["handle"], handle=handle_schema(handles, "g"), title=TITLE)

    async def run(self, arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        found = stored(context, arguments["handle"], "table", "graph")
        if found.kind == "table":
            raise OperatorFault("arguments", f"{found.handle} is a table", "Take to_graph first, or show it with table")
        shown = Presentation(kind="graph", of=found.handle, title=arguments.get("title", ""))
        return await context.results.keep_presentation(shown)


OPERATOR: Operator = _Graph()
