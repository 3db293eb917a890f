"""``subgraph``: the surroundings of nodes as a graph, the nearest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText, Dialect
from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.empty_result import explain_empty
from planners.graphseek.operators.graph_parts import MOST_NODES, edges_among, nodes_of
from planners.graphseek.operators.graph_query import TableQuery, compiled_for, fetch_rows
from planners.graphseek.operators.neighbour_reach import (
    match_reach,
    parse_end,
    parse_reach,
    write_least_hops,
)
from planners.graphseek.operators.node_naming import NodeReader, node_column
from planners.graphseek.operators.node_selection import parse_selection
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import GraphPart, Result, ResultColumn, ResultNode
from planners.stores.graph_schema import GraphSchema

__all__ = ["OPERATOR", "compile_query", "surroundings"]

_LIMIT = 200
_MOST_HOPS = 4


def compile_query(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog, dialect: Dialect
) -> TableQuery:
    """Return the query of the nodes around the starts, the nearest first."""
    start = parse_selection(arguments["start"], schema)
    reach = parse_reach(arguments, schema, direction="both")
    end = parse_end(schema, start, reach, arguments.get("node_types") or ())
    text = CypherText(schema, dialect)
    hops = match_reach(text, start, reach, end)
    write_least_hops(text, reach, hops)
    columns = (node_column(), ResultColumn(name="hops", type="integer"))
    text.returns(columns, ("n1", "h0"))
    text.add(f"ORDER BY h0, {text.node_id('n1', end.types)}")
    most = arguments.get("limit", _LIMIT)
    text.add(f"LIMIT {text.parameter(most + 1)}")
    title = f"{end.shown} around {start.shown} by {reach.shown}"
    return TableQuery(
        compiled=text.compiled(), columns=columns, title=title, most=most, start=start, reach=reach, end=end
    )


async def surroundings(
    arguments: Mapping[str, Any], context: OperatorContext
) -> tuple[GraphPart, list[ResultNode], bool, str]:
    """Return the graph around the starts, the starts, whether there is more, and a title.

    :raises OperatorFault: when there are no starts, or there is nothing around them and it is known why.
    """
    query = await compiled_for(compile_query, arguments, context)
    starts, cut = await nodes_of(context, query.start, most=query.most)
    if not starts:
        await explain_empty(context, replace(query, reach=None, end=None))()
        raise OperatorFault("empty", f"there is no {query.start.shown}", "Look for it with find")
    rows, _ = await fetch_rows(context, query.compiled, most=query.most + 1)
    if not rows:
        await explain_empty(context, query)()
    reader = NodeReader(context.schema, context.catalog)
    found = {each.id: each for each in (*starts, *(reader.node(row[0]) for row in rows))}
    nodes = list(found.values())[: query.most]
    edges, more = await edges_among(context, [each.id for each in nodes], query.reach.types if query.reach else ())
    return (
        GraphPart(nodes=tuple(nodes), edges=tuple(edges)),
        starts,
        cut or more or len(found) > query.most,
        query.title,
    )


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    part, _, cut, title = await surroundings(arguments, context)
    notes = ["There is more around them than the limit."] if cut else []
    return await context.results.keep_graph(part, title=title, cut=cut, notes=notes)


def _forms(forms: ArgumentForms) -> dict[str, dict[str, Any]]:
    return {
        "start": forms.selection(),
        **forms.reach(hops=_MOST_HOPS),
        "node_types": forms.node_types(),
        "limit": forms.limit(MOST_NODES),
    }


OPERATOR: Operator = TypedOperator(
    name="subgraph",
    description=(
        "The neighbourhood of nodes as a graph: nodes within one to four hops, in either direction unless one is given, and the "
        "relationships among them. Take it to show or explain how things hang together; to list or count, take traverse or degree."
    ),
    forms=_forms,
    required=("start",),
    runs=_run,
)
