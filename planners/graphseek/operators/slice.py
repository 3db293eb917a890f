"""Operators that follow relationships: to what is reached, around or between nodes, and what is counted and computed over it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from planners.graphseek.catalog import SemanticCatalog
from planners.graphseek.operators import graph_query, pattern
from planners.graphseek.operators.cypher_text import CypherText
from planners.graphseek.operators.graph_query import DEFAULT_ROWS, MOST_EDGES, MOST_NODES, TableQuery
from planners.graphseek.operators.operator import (
    ArgumentForms,
    Arguments,
    OperatorContext,
    OperatorFault,
    Schema,
    choice,
    integer,
    operator,
)
from planners.graphseek.results import Cell, GraphPart, Result, ResultColumn, ResultEdge

_HOPS = ResultColumn(name="hops", type="integer")
_MOST_ENDS = 500
"""Ids of ends: engines compare each with each node that is reached."""
_AROUND = 200  # nodes


def compile_traverse(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of the nodes that are reached by one hop or more."""
    start, reach = pattern.parse_nodes(arguments["start"], text.schema), pattern.parse_reach(arguments, text.schema)
    least, most = arguments.get("min_hops", 1), arguments.get("limit", DEFAULT_ROWS)
    if least > reach.hops:
        raise OperatorFault("arguments", f"min_hops is {least} and max_hops {reach.hops}", "Raise max_hops")
    names = [arguments["node_type"]] if arguments.get("node_type") else []
    end = pattern.parse_end(text.schema, start, reach, names, arguments.get("filters") or ())
    pattern.match_nearest(text, start, reach, end)
    if least > 1:
        text.where([f"h0 >= {text.parameter(least)}"])
    columns = pattern.return_nodes(text, end, (_HOPS,), ("h0",))
    if reach.hops > 1:
        text.add(f"ORDER BY h0, {text.node_id('n1', end.types)}")
    text.limit(most)
    title = f"{end.shown} from {start.shown} by {reach.shown}"
    return TableQuery(text.compiled(), columns, title, most, start, (*end.filters, *reach.filters))


@operator(
    "start* relationship_types direction max_hops relationship_filters min_hops node_type filters limit",
    compile=compile_traverse,
    min_hops=integer(1, 6),
)
async def traverse(arguments: Arguments, context: OperatorContext) -> Result:
    """Go from nodes along relationships, one hop or up to six, and list the nodes that are reached, each once, with its least
    number of hops: also what is affected when nodes fail. Give node_type to keep one type, filters on what is reached,
    relationship_filters on the way."""
    query = await graph_query.compiled_for(compile_traverse, arguments, context)
    if query.columns[0].node_type:
        return await graph_query.keep_query(context, query)
    reader = pattern.NodeReader(context.schema, context.catalog)

    def read(row: graph_query.Row) -> tuple[Cell, ...]:
        node = reader.node(row[0])
        return (node.id, node.type, reader.name(node), *row[1:])

    return await graph_query.keep_query(context, query, read=read)


def compile_subgraph(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of the nodes around the starts, the nearest first."""
    start = pattern.parse_nodes(arguments["start"], text.schema)
    reach = pattern.parse_reach(arguments, text.schema, direction="both")
    end = pattern.parse_end(text.schema, start, reach, arguments.get("node_types") or ())
    pattern.match_nearest(text, start, reach, end)
    text.returns((pattern.NODE, _HOPS), ("n1", "h0"))
    text.add(f"ORDER BY h0, {text.node_id('n1', end.types)}")
    most = arguments.get("limit", _AROUND)
    text.limit(most)
    title = f"{end.shown} around {start.shown} by {reach.shown}"
    return TableQuery(text.compiled(), (pattern.NODE, _HOPS), title, most, start, reach=reach)


@operator(
    "start* relationship_types direction max_hops node_types limit",
    compile=compile_subgraph,
    max_hops=integer(0, 4),
    limit=integer(1, MOST_NODES),
)
async def subgraph(arguments: Arguments, context: OperatorContext) -> Result:
    """The neighbourhood of nodes as a graph: nodes within one to four hops, in either direction unless one is given, and the
    relationships among them; max_hops 0: the nodes of a result and what is among them. Take it to show or explain how things hang
    together, or what flows into a product; to list or count, take traverse or degree."""
    start, most = await pattern.resolve_nodes(arguments["start"], context), arguments.get("limit", _AROUND)
    starts, cut = await graph_query.nodes_of(context, start, most=most)
    if not starts:
        raise OperatorFault("empty", f"there is no {start.shown}", "Look for it with find")
    title, reach, found = start.shown, pattern.Reach(), {each.id: each for each in starts}
    if arguments.get("max_hops") != 0:
        query = await graph_query.compiled_for(compile_subgraph, arguments, context)
        title, reach = query.title, query.reach
        rows, _ = await graph_query.fetch_rows(context, query.compiled, most=most + 1)
        reader = pattern.NodeReader(context.schema, context.catalog)
        found |= {each.id: each for each in (reader.node(row[0]) for row in rows)}
    nodes = list(found.values())[:most]
    edges, more = await graph_query.edges_among(context, [each.id for each in nodes], reach.types)
    cut = cut or more or len(found) > most
    notes = ["There is more around them than the limit."] if cut else []
    notes += [] if edges else ["There are no relationships among them."]
    return await context.results.keep_graph(
        GraphPart(nodes=tuple(nodes), edges=tuple(edges)), title=title, cut=cut, notes=notes
    )


def compile_paths(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of the paths, the shortest first."""
    start, end = (pattern.parse_nodes(arguments[name], text.schema) for name in ("start", "end"))
    if end.ids is not None and len(end.ids) > _MOST_ENDS:
        hint = f"End at {_MOST_ENDS} at most, or say their type and filters"
        raise OperatorFault("too large", f"{end.shown} has {len(end.ids):,} nodes", hint)
    reach = pattern.parse_reach(arguments, text.schema, hops=4)
    pattern.parse_end(text.schema, start, reach, [each.name for each in end.types])
    begin, conditions, steps = pattern.begin_steps(text, start, end, reach)
    if end.ids is not None:
        conditions.append(text.one_of_ids("n1", end.types, end.ids))
    conditions += pattern.node_conditions(text, "n1", end)
    conditions.append(f"{text.form('identity', 'n0')} <> {text.form('identity', 'n1')}")
    path, length = text.paths(steps, begin, conditions, arguments.get("shortest", True))
    if begin != "MATCH":
        text.add(f"WITH {path}, {length} AS h0 WHERE h0 IS NOT NULL")
        length = "h0"
    columns = (ResultColumn(name="path", type="string"), _HOPS)
    names = text.returns(columns, (path, length))
    text.add(f"ORDER BY {names[1]}")
    most = arguments.get("limit", 25)
    text.limit(most)
    return TableQuery(
        text.compiled(), columns, f"paths from {start.shown} to {end.shown} by {reach.shown}", most, start
    )


@operator(
    "start* end* relationship_types direction max_hops shortest limit",
    compile=compile_paths,
    shortest={"type": "boolean"},
    limit=integer(1, 500),
)
async def paths(arguments: Arguments, context: OperatorContext) -> Result:
    """Find how nodes are connected with other nodes: the shortest paths between them (or all, with shortest false) of at most six
    hops, as one graph. Take it when a question asks for a chain, a route or a connection between two named things."""
    query = await graph_query.compiled_for(compile_paths, arguments, context)
    rows, is_cut = await graph_query.fetch_rows(context, query.compiled, most=query.most)
    reader = pattern.NodeReader(context.schema, context.catalog)
    nodes = list({node.id: node for path, _ in rows for node in map(reader.node, path["nodes"])}.values())
    edges = _distinct_edges([each for path, _ in rows for each in path["edges"]])
    counts = ", ".join(f"{number} of {hops} hops" for hops, number in sorted(Counter(hops for _, hops in rows).items()))
    notes = [f"Paths: {counts}." if rows else "There is no path."]
    notes += ["There are more paths than the limit."] if is_cut else []
    cut = is_cut or len(nodes) > MOST_NODES or len(edges) > MOST_EDGES
    part = GraphPart(nodes=tuple(nodes[:MOST_NODES]), edges=tuple(edges[:MOST_EDGES]))
    return await context.results.keep_graph(part, title=query.title, cut=cut, notes=notes)


def _distinct_edges(found: Sequence[Any]) -> list[ResultEdge]:
    """Equal ones between the same nodes are one, as paths do not tell them apart."""
    names = ("source", "type", "target", "properties")
    edges = (graph_query.edge_of(*(each[name] for name in names)) for each in found)
    return list({repr(edge): edge for edge in edges}.values())


_NAME = ResultColumn(name="name", type="string")


def compile_degree(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of nodes and their numbers of neighbours."""
    start, reach, end = pattern.parse_neighbours({**arguments, "max_hops": 1}, text.schema)
    most = arguments.get("at_most")  # nodes without neighbours count where at most so many are asked for, or at least 0
    least = arguments.get("at_least", 1 if most is None else 0)
    if least < 0 or (most is not None and most < least):
        raise OperatorFault("arguments", f"at least {least} and at most {most} is no range", "Turn them round")
    pattern.match_reach(text, start, reach, end, keep_starts=least == 0)
    counted = text.form("identity", "n1")
    if by := arguments.get("distinct_by"):
        counted = text.property("n1", pattern.property_of(end.types, by).name)
    text.add(f"WITH n0, count(DISTINCT {counted}) AS a0")
    bounds = [f"a0 >= {text.parameter(least)}"] if least else []
    text.where(bounds + ([f"a0 <= {text.parameter(most)}"] if most is not None else []))
    columns = (
        pattern.node_column(start.type.name if start.type else ""),
        _NAME,
        ResultColumn(name="count", type="integer"),
    )
    names = text.returns(
        columns, (text.node_id("n0", start.types), pattern.name_value(text, "n0", start.types, catalog), "a0")
    )
    text.add(f"ORDER BY a0{'' if arguments.get('order') == 'ascending' else ' DESC'}, {names[0]}")
    limit = arguments.get("limit", DEFAULT_ROWS)
    text.limit(limit)
    title = f"{start.shown} by the number of {end.shown} by {reach.shown}"
    return TableQuery(text.compiled(), columns, title, limit, start)


@operator(
    "start* relationship_types direction relationship_filters neighbour_type neighbour_filters at_least at_most distinct_by order limit",
    compile=compile_degree,
    at_least=integer(0),
    at_most=integer(0),
    distinct_by=lambda forms: forms.property,
    order=choice("descending", "ascending"),
)
async def degree(arguments: Arguments, context: OperatorContext) -> Result:
    """Count the different neighbours of each node, and keep nodes with at_least or at_most so many: in three or more sites, in two
    or more periods, without any (at_most 0). Parallel relationships count once; distinct_by counts different values of a property
    instead."""
    return await graph_query.run_compiled(compile_degree, arguments, context)


def _group_by(forms: ArgumentForms) -> Schema:
    known = {"enum": ["node", "neighbour", *forms.property["enum"]]} if "enum" in forms.property else {}
    return {"type": "string", "description": "node: one row for each start", **known}


def compile_aggregate_neighbours(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of groups of neighbours: those of one node, one neighbour, or those of one value."""
    start, reach, end = pattern.parse_neighbours(arguments, text.schema)
    by, along = arguments.get("group_by", "node"), str(arguments.get("relationship_property", ""))
    if along and reach.hops > 1:
        raise OperatorFault("arguments", "relationship_property goes with one hop", "Leave max_hops out")
    owners = (reach.types or text.schema.relationships) if along else end.types
    aggregations = pattern.parse_aggregations(arguments["aggregations"], owners, along)
    if by == "neighbour" and not along and any(each.kind != "COUNT" or each.key for each in aggregations):
        hint = "Use COUNT of *, a relationship_property, or group_by node"
        raise OperatorFault("arguments", "each neighbour is one node: there is nothing to aggregate", hint)
    pattern.match_reach(text, start, reach, end)
    carried = {"node": "n0", "neighbour": "n1"}.get(by, "")
    if not along:
        text.add("WITH DISTINCT n0, n1" if carried else "WITH DISTINCT n1")
    if carried:
        of = start if by == "node" else end
        groups = [(pattern.node_column(of.type.name if of.type else ""), text.node_id(carried, of.types))]
        groups.append((_NAME, pattern.name_value(text, carried, of.types, catalog)))
    else:
        key = pattern.property_of(end.types, by)
        groups = [(pattern.columns_of([key])[0], text.property("n1", key.name))]
    title, counted = f"{end.shown} of {start.shown} by {reach.shown}", "e0" if along else "n1"
    query = graph_query.write_groups(
        text, groups, aggregations, counted, arguments, title=title, start=start, carried=carried
    )
    return replace(query, filters=(*end.filters, *reach.filters))


@operator(
    "start* relationship_types direction max_hops relationship_filters neighbour_type neighbour_filters group_by aggregations* relationship_property order_by descending limit",
    compile=compile_aggregate_neighbours,
    group_by=_group_by,
    order_by={"type": "string", "description": "a column: count, sum_price"},
)
async def aggregate_neighbours(arguments: Arguments, context: OperatorContext) -> Result:
    """Count, sum, average, or find the extremes of the neighbours of nodes: for each start (group_by node), each neighbour, or each
    value of a property of the neighbours. Distinct neighbours count once. With relationship_property it aggregates what the
    relationships carry (cost, quantity)."""
    return await graph_query.run_compiled(compile_aggregate_neighbours, arguments, context)
