"""``to_table``: the nodes or the relationships of a graph that is a result, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planners.graphseek.operators.graph_query import as_cell, table_of
from planners.graphseek.operators.node_naming import node_column
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.row_types import column_of
from planners.graphseek.operators.table_arguments import MOST_ROWS, nearest_hint, stored
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Cell, GraphPart, Result, ResultColumn
from planners.stores.property_graph import Properties

__all__ = ["OPERATOR", "node_rows"]

Rows = tuple[list[ResultColumn], list[tuple[Cell, ...]]]


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    handle, what, kind = arguments["handle"], arguments["what"], arguments.get("type", "")
    stored(context, handle, "graph")
    part = await context.results.graph(handle)
    members: Sequence[Any] = part.nodes if what == "nodes" else part.edges
    known = sorted({each.type for each in members})
    if kind and kind not in known:
        raise OperatorFault("unknown name", f"{handle} has no {what} of type {kind}", nearest_hint(kind, known))
    columns, rows = (node_rows if what == "nodes" else _edge_rows)(part, kind)
    title = f"{kind or 'all'} {what} of {handle}"
    return await context.results.keep_table(table_of(columns, rows), title=title, most=MOST_ROWS)


def node_rows(part: GraphPart, kind: str = "") -> Rows:
    """Return the nodes of a graph as columns and rows: the node, its type where there are several, its properties.

    :param kind: their type; all where it is empty.
    """
    nodes = [each for each in part.nodes if not kind or each.type == kind]
    types = {each.type for each in nodes}
    only = types.pop() if len(types) == 1 else ""
    if only:
        column = node_column(only, {name for each in nodes for name in each.properties})
        return _with_properties([column], [((each.id,), each.properties) for each in nodes])
    named = [node_column(), ResultColumn(name="type", type="string")]
    return _with_properties(named, [((each.id, each.type), each.properties) for each in nodes])


def _edge_rows(part: GraphPart, kind: str) -> Rows:
    types = {each.id: each.type for each in part.nodes}
    edges = [each for each in part.edges if not kind or each.type == kind]
    columns = []
    for name, ends in (("source", {e.source for e in edges}), ("target", {e.target for e in edges})):
        found = {types.get(each, "") for each in ends}
        columns.append(ResultColumn(name=name, type="node", node_type=found.pop() if len(found) == 1 else ""))
    columns.append(ResultColumn(name="type", type="string"))
    return _with_properties(columns, [((each.source, each.target, each.type), each.properties) for each in edges])


def _with_properties(columns: list[ResultColumn], members: Sequence[tuple[tuple[Cell, ...], Properties]]) -> Rows:
    names = list(dict.fromkeys(name for _, properties in members for name in properties))
    rows = [(*cells, *(as_cell(properties.get(name)) for name in names)) for cells, properties in members]
    for at, name in enumerate(names, len(columns)):
        columns.append(column_of(name, [row[at] for row in rows]))
    return columns, rows


OPERATOR: Operator = TypedOperator(
    name="to_table",
    group="retrieval",
    description=(
        "Turn a graph that is a result into a table: of its nodes, with their type and properties, or of its relationships, with the "
        "nodes at their ends; all, or those of one type."
    ),
    forms=lambda forms: {
        "handle": forms.handle("g"),
        "what": {"type": "string", "enum": ["nodes", "relationships"]},
        "type": forms.type,
    },
    required=("handle", "what"),
    runs=_run,
)
