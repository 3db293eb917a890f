"""``impact``: all that depends on nodes, hop by hop: what breaks, stops or changes with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText, Dialect
from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.empty_result import explain_empty
from planners.graphseek.operators.graph_query import DEFAULT_ROWS, TableQuery, compiled_for, fetch_rows, table_of
from planners.graphseek.operators.neighbour_reach import (
    match_reach,
    parse_end,
    parse_reach,
    write_least_hops,
)
from planners.graphseek.operators.node_naming import NodeReader
from planners.graphseek.operators.node_selection import parse_selection
from planners.graphseek.operators.operator import Operator, OperatorContext
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Result, ResultColumn
from planners.stores.graph_schema import GraphSchema

__all__ = ["OPERATOR", "compile_query"]

_HOPS = 4
"""By default: the longest chain of the paper's questions about shortages goes from a module over assemblies to a region."""
_COLUMNS = (
    ResultColumn(name="hop", type="integer"),
    ResultColumn(name="type", type="string"),
    ResultColumn(name="node", type="node"),
    ResultColumn(name="name", type="string"),
)


def compile_query(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog, dialect: Dialect
) -> TableQuery:
    """Return the query of the nodes that are reached, the nearest first."""
    start = parse_selection(arguments["start"], schema)
    reach = parse_reach(arguments, schema, hops=_HOPS)
    end = parse_end(schema, start, reach, arguments.get("node_types") or ())
    text = CypherText(schema, dialect)
    hops = match_reach(text, start, reach, end)
    write_least_hops(text, reach, hops)
    text.returns((ResultColumn(name="hop", type="integer"), ResultColumn(name="node", type="node")), ("h0", "n1"))
    text.add(f"ORDER BY h0, {text.node_id('n1', end.types)}")
    text.add(f"LIMIT {text.parameter(DEFAULT_ROWS + 1)}")
    title = f"what {start.shown} has an effect on, by {reach.shown}"
    return TableQuery(compiled=text.compiled(), columns=_COLUMNS, title=title, start=start, reach=reach, end=end)


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    query = await compiled_for(compile_query, arguments, context)
    found, _ = await fetch_rows(context, query.compiled, most=query.most + 1)
    if not found:
        await explain_empty(context, query)()
    reader = NodeReader(context.schema, context.catalog)
    nodes = [(hop, reader.node(value)) for hop, value in found]
    rows = [(int(str(hop)), node.type, node.id, reader.name(node)) for hop, node in nodes]
    counts = Counter(type_ for _, type_, _, _ in rows[: query.most])
    notes = [f"By type: {', '.join(f'{name} {count:,}' for name, count in sorted(counts.items()))}."] if rows else []
    table = table_of(query.columns, rows)
    return await context.results.keep_table(table, title=query.title, most=query.most, notes=notes)


def _forms(forms: ArgumentForms) -> dict[str, dict[str, Any]]:
    return {"start": forms.selection(), **forms.reach(), "node_types": forms.node_types()}


OPERATOR: Operator = TypedOperator(
    name="impact",
    description=(
        "What is affected when nodes fail, change or run short: everything that is reached from them in up to six hops, each node once "
        "at its least hop, with counts by type. Give relationship_types along which an effect travels, and node_types to keep."
    ),
    forms=_forms,
    required=("start",),
    runs=_run,
)
