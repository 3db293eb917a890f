"""An operator as a value: what it is called, what it takes, and what it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.operator import Group, OperatorContext
from planners.graphseek.operators.table_arguments import object_schema
from planners.graphseek.results.result import Result, ResultColumn
from planners.stores.graph_schema import GraphSchema

__all__ = ["TypedOperator"]

Forms: TypeAlias = Callable[[ArgumentForms], dict[str, dict[str, Any]]]
Run: TypeAlias = Callable[[Mapping[str, Any], OperatorContext], Awaitable[Result]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedOperator:
    """One operator.

    :param forms: the JSON schemas of its arguments by name.
    :param required: names of those without which it cannot run.
    :param runs: see :meth:`Operator.run`.
    :param returns: columns that its table always has; with them, and with plain arguments alone, it can have other versions.
    """

    name: str
    description: str
    forms: Forms
    required: tuple[str, ...]
    runs: Run
    group: Group = "graph data"
    returns: tuple[ResultColumn, ...] = ()

    def parameters(self, schema: GraphSchema, handles: Sequence[str]) -> dict[str, Any]:
        """See :class:`Operator`."""
        return object_schema(self.required, **self.forms(ArgumentForms(schema, handles)))

    async def run(self, arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        """See :class:`Operator`."""
        return await self.runs(arguments, context)
