"""``to_graph``: the nodes of a table with the relationships among them, as a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.graphseek.operators.graph_parts import MOST_NODES, edges_among, nodes_of
from planners.graphseek.operators.node_selection import parse_selection, resolve_selection
from planners.graphseek.operators.operator import Operator, OperatorContext
from planners.graphseek.operators.subgraph import surroundings
from planners.graphseek.operators.table_arguments import COLUMN, stored
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import GraphPart, Result

__all__ = ["OPERATOR"]

_MOST_HOPS = 2


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    handle, hops = stored(context, arguments["handle"], "table").handle, arguments.get("max_hops", 0)
    named = {name: arguments[name] for name in ("handle", "column") if name in arguments}
    start = await resolve_selection(named, context)
    if hops:
        around = {"start": start, "max_hops": hops, "limit": MOST_NODES}
        part, _, cut, _ = await surroundings(around, context)
    else:
        nodes, cut = await nodes_of(context, parse_selection(start, context.schema), most=MOST_NODES)
        edges, more = await edges_among(context, [each.id for each in nodes])
        part, cut = GraphPart(nodes=tuple(nodes), edges=tuple(edges)), cut or more
    notes = [] if part.edges else ["There are no relationships among them."]
    return await context.results.keep_graph(part, title=f"nodes of {handle}", cut=cut, notes=notes)


OPERATOR: Operator = TypedOperator(
    name="to_graph",
    group="retrieval",
    description=(
        "Turn a table of nodes that is a result into a graph: the nodes and the relationships among them (max_hops 0), or also what is "
        "around them. Name the column where the table has several of nodes."
    ),
    forms=lambda forms: {
        "handle": forms.handle("t"),
        "column": COLUMN,
        "max_hops": {"type": "integer", "minimum": 0, "maximum": _MOST_HOPS},
    },
    required=("handle",),
    runs=_run,
)
