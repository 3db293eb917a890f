"""``subtask``: a part of the question is answered in a context of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Result

__all__ = ["OPERATOR"]


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    if context.subtask is None:
        raise OperatorFault("refused", "a subtask has no subtasks", "Use other operators")
    return await context.subtask(arguments["request"], arguments.get("handles", ()))


def _forms(forms: ArgumentForms) -> dict[str, dict[str, Any]]:
    request = {"request": {"type": "string", "minLength": 1}}
    if not forms.handles:
        return request
    named = {"type": "string", "enum": list(forms.handles)}
    return {**request, "handles": {"type": "array", "items": named, "maxItems": 4}}


OPERATOR: Operator = TypedOperator(
    name="subtask",
    group="agent",
    description=(
        "Answers one part of a question in a context of its own, which sees the request and the results that are named, and nothing "
        "else. Take it for a part that needs several steps whose details do not matter. Its answer is a table of one cell."
    ),
    forms=_forms,
    required=("request",),
    runs=_run,
)
