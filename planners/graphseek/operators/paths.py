"""``paths``: how nodes are connected with others; the union of the paths as a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText, Dialect
from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.empty_result import explain_empty
from planners.graphseek.operators.graph_parts import MOST_EDGES, MOST_NODES
from planners.graphseek.operators.graph_query import TableQuery, compiled_for, fetch_rows
from planners.graphseek.operators.neighbour_reach import End, parse_end, parse_reach, steps_of
from planners.graphseek.operators.node_naming import NodeReader, without_nulls
from planners.graphseek.operators.node_selection import (
    parse_selection,
    selection_conditions,
)
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import GraphPart, Result, ResultColumn, ResultEdge
from planners.stores.graph_schema import GraphSchema

__all__ = ["OPERATOR", "compile_query"]

_HOPS = 4
_LIMIT = 25
_MOST_PATHS = 500
_MOST_ENDS = 500
"""Ids of ends: engines compare each with each node that is reached."""


def compile_query(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog, dialect: Dialect
) -> TableQuery:
    """Return the query of the paths, the shortest first."""
    start, target = parse_selection(arguments["start"], schema), parse_selection(arguments["end"], schema)
    if target.ids is not None and len(target.ids) > _MOST_ENDS:
        problem = f"{target.shown} has {len(target.ids):,} nodes"
        raise OperatorFault("too large", problem, f"End at {_MOST_ENDS} at most, or say their type and filters")
    reach = parse_reach(arguments, schema, hops=_HOPS)
    parse_end(schema, start, reach, [each.name for each in target.types])
    text = CypherText(schema, dialect)
    begin, conditions = "MATCH", list[str]()
    if start.ids is not None:
        begin = dialect.choose(text, "n0", start.type, start.ids)
    else:
        conditions += selection_conditions(text, "n0", start)
    if target.ids is not None:
        conditions.append(text.one_of_ids("n1", target.types, target.ids))
    conditions += selection_conditions(text, "n1", target)
    conditions.append(f"{dialect.identity('n0')} <> {dialect.identity('n1')}")
    steps = steps_of(
        text, "(n0)" if start.ids is not None else text.node("n0", start.types), text.node("n1", target.types), reach
    )
    path, length = dialect.ways(text, steps, begin, conditions, shortest=arguments.get("shortest", True))
    if begin != "MATCH":
        text.add(f"WITH {path}, {length} AS h0 WHERE h0 IS NOT NULL")
        length = "h0"
    columns = (ResultColumn(name="path", type="string"), ResultColumn(name="hops", type="integer"))
    names = text.returns(columns, (path, length))
    text.add(f"ORDER BY {names[1]}")
    most = arguments.get("limit", _LIMIT)
    text.add(f"LIMIT {text.parameter(most + 1)}")
    title = f"paths from {start.shown} to {target.shown} by {reach.shown}"
    end = End(type=target.type, types=target.types, filters=target.filters, is_narrowed=True)
    return TableQuery(
        compiled=text.compiled(), columns=columns, title=title, most=most, start=start, reach=reach, end=end
    )


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    query = await compiled_for(compile_query, arguments, context)
    rows, _ = await fetch_rows(context, query.compiled, most=query.most + 1)
    if not rows:
        await explain_empty(context, query)()
    paths: list[Any] = [path for path, _ in rows[: query.most]]
    reader = NodeReader(context.schema, context.catalog)
    nodes = list({node.id: node for path in paths for node in map(reader.node, path["nodes"])}.values())
    edges = _edges(paths)
    part = GraphPart(nodes=tuple(nodes[:MOST_NODES]), edges=tuple(edges[:MOST_EDGES]))
    cut = len(rows) > query.most or len(nodes) > MOST_NODES or len(edges) > MOST_EDGES
    notes = _notes([int(str(hops)) for _, hops in rows[: query.most]], is_cut=len(rows) > query.most)
    return await context.results.keep_graph(part, title=query.title, cut=cut, notes=notes)


def _edges(paths: Iterable[Any]) -> list[ResultEdge]:
    """Return the relationships of paths; equal ones between the same nodes are one, as paths do not tell them apart."""
    found: dict[str, ResultEdge] = {}
    for path in paths:
        for each in path["edges"]:
            source, target, properties = str(each["source"]), str(each["target"]), without_nulls(each["properties"])
            edge = ResultEdge(type=each["type"], source=source, target=target, properties=properties)
            found.setdefault(repr(edge), edge)
    return list(found.values())


def _notes(lengths: Sequence[int], *, is_cut: bool) -> list[str]:
    if not lengths:
        return ["There is no path."]
    counts = ", ".join(f"{number} of {hops} hops" for hops, number in sorted(Counter(lengths).items()))
    return [f"Paths: {counts}.", *(["There are more paths than the limit."] if is_cut else [])]


def _forms(forms: ArgumentForms) -> dict[str, dict[str, Any]]:
    return {
        "start": forms.selection(),
        "end": forms.selection(),
        **forms.reach(),
        "shortest": {"type": "boolean"},
        "limit": forms.limit(_MOST_PATHS),
    }


OPERATOR: Operator = TypedOperator(
    name="paths",
    description=(
        "Find how nodes are connected with other nodes: the shortest paths between them (or all, with shortest false) of at most six "
        "hops, as one graph. Take it when a question asks for a chain, a route or a connection between two named things."
    ),
    forms=_forms,
    required=("start", "end"),
    runs=_run,
)
