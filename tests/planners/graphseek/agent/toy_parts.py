"""Parts of runs without an engine: operators that do what a test says, a graph of one schema, and turns from a script."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from planners.graphseek.catalog import SemanticCatalog
from planners.graphseek.operators.cypher_text import Compiled
from planners.graphseek.operators.operator import ArgumentForms, Operator, OperatorContext, TypedOperator
from planners.graphseek.operators.retrieve import cypher as CYPHER
from planners.graphseek.question_run import QuestionParts
from planners.graphseek.results import Result, ResultColumn, ResultStore
from planners.graphseek.turn import Answer, Invocation, StepView, Turn
from planners.stores.graph_schema import CypherDialect, GraphSchema, NodeType, PropertyKey
from planners.stores.property_graph import QueryLimits, QueryRows, Value

Run = Callable[[Mapping[str, Any], OperatorContext], Awaitable[Result]]
SITE = NodeType(
    name="FactorySite", properties=(PropertyKey(name="name", type="string"), PropertyKey(name="year", type="integer"))
)
LIMITS = QueryLimits()
SCHEMA = GraphSchema(nodes=(SITE,), relationships=())


class ToyGraph:
    """Has a schema and answers nothing."""

    dialect: CypherDialect = "ladybug"
    address = "toy"

    async def schema(self) -> GraphSchema:
        return SCHEMA

    async def read(
        self, text: str, parameters: Mapping[str, Value | None] | None = None, limits: QueryLimits = LIMITS
    ) -> QueryRows:
        raise NotImplementedError


def Toy(name: str, run: Run) -> Operator:
    """An operator with one argument, ``of``: text, and one optional handle."""

    def forms(of: ArgumentForms) -> dict[str, Any]:
        handle = {"handle": of.handle()} if of.handles else {}
        return {"of": {"type": "string"}, "type": of.node_type, **handle}

    return TypedOperator(name=name, description="It does what a test says.", forms=forms, required=("of",), runs=run)


async def echo(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    """Give back the text as a table of one cell."""
    context.ran(Compiled(text=f"RETURN {arguments['of']!r}"))
    text = arguments["of"]
    if "handle" in arguments:
        ((cell,),) = await context.results.rows(arguments["handle"])
        text = f"{text} {cell}"
    return await context.results.keep_table([ResultColumn(name="c0", type="string")], [(text,)], title="a row")


class Script:
    """Turns in their order; the last stays. An exception is raised.

    :ivar views: what was seen.
    """

    def __init__(self, *turns: Turn | Exception) -> None:
        self._turns = turns
        self.views: list[StepView] = []

    async def turn(self, view: StepView) -> Turn:
        self.views.append(view)
        given = self._turns[min(len(self.views), len(self._turns)) - 1]
        await asyncio.sleep(0)
        if isinstance(given, Exception):
            raise given
        return given


def call(operator: str, **arguments: Any) -> Invocation:
    return Invocation(operator=operator, arguments=arguments)


def answer(text: str, *of: str) -> Answer:
    return Answer(text=text, of=of)


def parts(store: ResultStore, script: Script, *operators: Operator) -> QuestionParts:
    return QuestionParts(
        graph=ToyGraph(),
        catalog=SemanticCatalog(),
        operators=(Toy("echo", echo), *operators, CYPHER),
        results=store,
        turns=script,
    )
