"""The baseline without operators: a model turns words into one Cypher query, and is told what failed, in one talk."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from inference.chat import GREEDY, ChatModel, Message
from ontology.errors import StatementError
from planners.graphs.cypher.cypher_allow_list import allowed_cypher
from planners.graphs.property_graph import QueryLimits
from planners.graphseek.catalog.catalog_text import catalog_text
from planners.graphseek.operators.node_naming import NodeReader
from scripts.graphseek.account_graph import AccountGraph, typed_pattern
from scripts.graphseek.answer_score import Answer
from scripts.graphseek.question import Question
from scripts.graphseek.system_answer import SystemAnswer

__all__ = ["ask_directly"]

_SYSTEM = """You answer a question about a property graph with one Cypher query that only reads. Write it as {{"query": TEXT}}.
Names of types, relationships and properties are those of the schema, letter by letter. Return what is asked for as properties under names,
not whole nodes: RETURN DISTINCT s.name AS site. If the query fails or gives nothing, you are told, and write another one.
The engine is Ladybug; its Cypher is that of openCypher, without procedures.
{marks}
Schema:
{schema}"""
_QUERY: dict[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string", "minLength": 1}},
    "required": ["query"],
    "additionalProperties": False,
}
_LIMITS = QueryLimits(rows=10_000, seconds=30.0)
"""Those of a table of an operator, and of one invocation."""


async def ask_directly(
    model: ChatModel, graph: AccountGraph, question: Question, *, with_catalog: bool, attempts: int, max_tokens: int
) -> SystemAnswer:
    """Ask a question. The rows of the first query that gives any are the answer.

    :raises ModelError: when the model does not answer.
    """
    form = catalog_text(graph.catalog, graph.schema, question.text, form="full" if with_catalog else "lean")
    system = _SYSTEM.format(marks=_marks(graph), schema=form.text)
    messages = [Message(role="system", content=system), Message(role="user", content=f"Question: {question.text}")]
    problem = ""
    for attempt in range(1, attempts + 1):
        said = await asyncio.to_thread(
            model.complete, messages, schema=_QUERY, schema_name="query", max_tokens=max_tokens, sample=GREEDY
        )
        query, tables = "", dict[str, Sequence[object]]()
        try:
            query = str(json.loads(said.text)["query"])
            tables = await _columns(graph, query)
            problem = "" if any(tables.values()) else "The query gave no rows."
        except (ValueError, KeyError, TypeError):
            problem = 'That is not JSON of the form {"query": TEXT}.'
        except StatementError as error:
            problem = f"The query failed: {error.problem}"
        if not problem:
            return SystemAnswer(answer=Answer(tables=[tables]), outcome="answered", steps=attempt, last=query)
        again = f"{problem} Write another one."
        messages += [Message(role="assistant", content=said.text), Message(role="user", content=again)]
    return SystemAnswer(answer=Answer(), outcome=f"no answer: {problem}", steps=attempts, last=query)


def _marks(graph: AccountGraph) -> str:
    """Say how types stand in queries where they are not labels."""
    marked = [each for each in graph.schema.nodes if each.mark.property or each.mark.label != each.name]
    return "".join(f"A node of type {each.name} is written {typed_pattern('n', each)}\n" for each in marked)


async def _columns(graph: AccountGraph, query: str) -> dict[str, Sequence[object]]:
    """Return the rows of a query by column; a node stands by its name.

    :raises StatementError: when it is refused or fails.
    """
    reader = NodeReader(graph.schema, graph.catalog)

    def cell(value: Any) -> object:
        if isinstance(value, dict) and {"id", "label", "properties"} <= value.keys():
            return reader.name(reader.node(value))
        return value

    async with graph.graph.read(allowed_cypher(query, write=False).text, None, _LIMITS) as stream:
        rows = [row async for batch in stream.batches() for row in batch]
        return {name: [cell(row[at]) for row in rows] for at, name in enumerate(stream.columns)}
