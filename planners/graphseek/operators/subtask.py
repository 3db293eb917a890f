"""``subtask``: a part of the question is answered in a context of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planners.graphs.graph_schema import GraphSchema
from planners.graphseek.operators.operator import Group, Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.table_arguments import object_schema
from planners.graphseek.results.result import Result

__all__ = ["OPERATOR"]


class _Subtask:
    name = "subtask"
    group: Group = "agent"
    description = (
        "Answers one part of a question in a context of its own, which sees the request and the results that are named, and nothing "
        "else. Take it for a part that needs several steps whose details do not matter. Its answer is a table of one cell."
    )

    def parameters(self, schema: GraphSchema, handles: Sequence[str]) -> dict[str, Any]:
        """See :class:`Operator`."""
        properties: dict[str, Any] = {"request": {"type": "string", "minLength": 1}}
        if handles:
            named = {"type": "string", "enum": list(handles)}
            properties["handles"] = {"type": "array", "items": named, "maxItems": 4}
        return object_schema(["request"], **properties)

    async def run(self, arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        """See :class:`Operator`."""
        if context.subtask is None:
            raise OperatorFault("refused", "a subtask has no subtasks", "Use other operators")
        return await context.subtask(arguments["request"], arguments.get("handles", ()))


OPERATOR: Operator = _Subtask()
