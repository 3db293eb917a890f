"""The baseline without operators: a model turns words into Cypher, sees what a query gives, and accepts it or writes another, in one talk."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from inference.chat import GREEDY, ChatModel, Message
from ontology.errors import StatementError
from planners.graphseek.catalog_text import catalog_text
from planners.graphseek.operators.graph_query import table_of, typed_table
from planners.graphseek.operators.operator import object_schema
from planners.graphseek.operators.pattern import NodeReader
from planners.graphseek.results import ResultStore
from planners.stores.property_graph import QueryLimits
from planners.stores.statements import allowed_cypher
from scripts.graphseek.account_graph import AccountGraph, typed_pattern
from scripts.graphseek.answer_score import Answer, Table
from scripts.graphseek.question import Question
from scripts.graphseek.system_answer import SystemAnswer

__all__ = ["ask_directly"]

_SYSTEM = """You answer a question about a property graph with one Cypher query that only reads. Write it as {{"query": TEXT}}.
Names of types, relationships and properties are those of the schema, letter by letter. Return what is asked for as properties under names,
not whole nodes: RETURN DISTINCT s.name AS site. If the query fails, you are told, and write another one. If it runs, you are shown what it
gives. Then write {{"accept": true}} if that answers the question, also where there are no rows, or else another query.
The engine is Ladybug; its Cypher is that of openCypher, without procedures.
{marks}
Schema:
{schema}"""
_QUERY = object_schema(["query"], query={"type": "string", "minLength": 1})
_QUERY_OR_ACCEPT: dict[str, Any] = {"anyOf": [_QUERY, object_schema(["accept"], accept={"const": True})]}
_LIMITS = QueryLimits(rows=10_000, seconds=30.0)
"""Those of a table of an operator, and of one invocation."""


async def ask_directly(
    model: ChatModel, graph: AccountGraph, question: Question, *, with_catalog: bool, attempts: int, max_tokens: int
) -> SystemAnswer:
    """Ask a question. What the last query that ran gives is the answer, whole.

    :param attempts: calls of the model: each writes a query, or accepts what the one before gave.
    :raises ModelError: when the model does not answer.
    """
    form = catalog_text(graph.catalog, graph.schema, question.text, form="full" if with_catalog else "lean")
    system = _SYSTEM.format(marks=_marks(graph), schema=form)
    messages = [Message(role="system", content=system), Message(role="user", content=f"Question: {question.text}")]
    query, problem = "", ""
    table: Table | None = None
    for attempt in range(1, attempts + 1):
        schema = _QUERY if table is None else _QUERY_OR_ACCEPT
        said = await asyncio.to_thread(
            model.complete, messages, schema=schema, schema_name="query", max_tokens=max_tokens, sample=GREEDY
        )
        given = _object(said.text)
        if table is not None and given.get("accept") is True:
            return SystemAnswer(answer=Answer(tables=[table]), outcome="answered", steps=attempt, last=query)
        problem = 'That is not JSON of the form {"query": TEXT}. Write another one.'
        if isinstance(given.get("query"), str):
            query = given["query"]
            try:
                table = await _table(graph, query)
                problem = f"{await _preview(table)}\nAccept it, or write another query."
            except StatementError as error:
                problem = f"The query failed: {error.problem} Write another one."
        messages += [Message(role="assistant", content=said.text), Message(role="user", content=problem)]
    if table is None:
        return SystemAnswer(answer=Answer(), outcome=f"no answer: {problem}", steps=attempts, last=query)
    return SystemAnswer(answer=Answer(tables=[table]), outcome="answered, not accepted", steps=attempts, last=query)


def _object(text: str) -> dict[str, Any]:
    """Return what a model wrote; nothing where it is no object."""
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


async def _preview(table: Table) -> str:
    """Return the summary that operators' results have."""
    rows = table_of(*typed_table(list(table), list(zip(*table.values(), strict=True))))
    with tempfile.TemporaryDirectory() as folder:
        results = ResultStore(Path(folder))
        kept = await results.keep_table(rows, title="what the query gives", most=_LIMITS.rows)
        results.close()
    return kept.summary


def _marks(graph: AccountGraph) -> str:
    """Say how types stand in queries where they are not labels."""
    marked = [each for each in graph.schema.nodes if each.mark.property or each.mark.label != each.name]
    return "".join(f"A node of type {each.name} is written {typed_pattern('n', each)}\n" for each in marked)


async def _table(graph: AccountGraph, query: str) -> Table:
    """Return the rows of a query by column; a node stands by its name.

    :raises StatementError: when it is refused or fails.
    """
    reader = NodeReader(graph.schema, graph.catalog)

    def cell(value: Any) -> object:
        if isinstance(value, dict) and {"id", "label", "properties"} <= value.keys():
            return reader.name(reader.node(value))
        return value

    async with graph.graph.read(allowed_cypher(query).text, None, _LIMITS) as stream:
        rows = [row async for batch in stream.batches() for row in batch]
        return {name: [cell(row[at]) for row in rows] for at, name in enumerate(stream.columns)}
