"""Operators that follow relationships: to what is reached, around or between nodes, and what is counted and computed over it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from planners.graphseek.operators import graph_query, pattern
from planners.graphseek.operators.cypher_text import CypherText
from planners.graphseek.operators.graph_query import DEFAULT_ROWS, MOST_NODES
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
from planners.graphseek.results import Cell, Result, ResultColumn

_HOPS = ResultColumn(name="hops", type="integer")
_NAME = ResultColumn(name="name", type="string")
# The columns of relationships, from which a page draws a graph
_EDGES = tuple(
    ResultColumn(name=name, type="node" if name in ("source", "target") else "string")
    for name in ("source", "source_type", "source_name", "type", "target", "target_type", "target_name")
)
_MOST_ENDS = 500  # ids of ends: engines compare each with each node that is reached
_AROUND = 200  # nodes


@operator("start* relationship_types direction max_hops relationship_filters node_type filters limit")
async def traverse(arguments: Arguments, context: OperatorContext) -> Result:
    """Go from nodes along relationships, one hop or up to six, and list the nodes that are reached, each once, with its least
    number of hops: also what is affected when nodes fail. Give node_type to keep one type, filters on what is reached,
    relationship_filters on the way."""
    given, text = await graph_query.begin(arguments, context)
    start, reach = pattern.parse_nodes(given["start"], text.schema), pattern.parse_reach(given, text.schema)
    names = [given["node_type"]] if given.get("node_type") else []
    end = pattern.parse_end(text.schema, start, reach, names, given.get("filters") or ())
    pattern.match_nearest(text, start, reach, end)
    columns, values = [pattern.NODE], ["n1"]
    if end.type is not None:
        columns, values = pattern.node_cells(text, "n1", end.type, end.type.properties)
    text.returns((*columns, _HOPS), (*values, "h0"))
    if reach.hops > 1:
        text.add(f"ORDER BY h0, {text.node_id('n1', end.types)}")
    most = given.get("limit", DEFAULT_ROWS)
    text.limit(most)
    reader = pattern.NodeReader(context.schema, context.catalog)

    def read(row: graph_query.Row) -> tuple[Cell, ...]:
        node = reader.node(row[0])
        return (node.id, node.type, reader.name(node), *row[1:])

    return await graph_query.run_query(
        context,
        text,
        (*columns, *(() if end.type else pattern.NODE_TEXTS), _HOPS),
        title=f"{end.shown} from {start.shown} by {reach.shown}",
        most=most,
        filters=(*start.filters, *end.filters, *reach.filters),
        read=None if end.type else read,
    )


@operator(
    "start* relationship_types direction max_hops node_types limit",
    max_hops=integer(1, 4),
    limit=integer(1, MOST_NODES),
)
async def subgraph(arguments: Arguments, context: OperatorContext) -> Result:
    """The neighbourhood of nodes: the relationships among the nodes within one to four hops, in either direction unless one is given.
    Take it to show or explain how things hang together, or what flows into a product; to list or count, take traverse or degree."""
    given, text = await graph_query.begin(arguments, context)
    start, most = pattern.parse_nodes(given["start"], text.schema), given.get("limit", _AROUND)
    reach = pattern.parse_reach(given, text.schema, direction="both")
    end = pattern.parse_end(text.schema, start, reach, given.get("node_types") or ())
    ids = dict.fromkeys(start.ids or ())
    if start.ids is None:
        own = CypherText(context.schema, context.graph.dialect)
        pattern.match_nodes(own, start)
        own.returns([pattern.NODE], [own.node_id("n0", start.types)])
        own.limit(most)
        found, _ = await graph_query.fetch_rows(context, own.compiled(), most=most)
        ids = dict.fromkeys(str(row[0]) for row in found)
    if not ids:
        raise OperatorFault("empty", f"there is no {start.shown}", "Look for it with find")
    pattern.match_nearest(text, start, reach, end)
    names = text.returns((pattern.NODE, _HOPS), (text.node_id("n1", end.types), "h0"))
    text.add(f"ORDER BY h0, {names[0]}")
    text.limit(most)
    around, _ = await graph_query.fetch_rows(context, text.compiled(), most=most + 1)
    ids |= dict.fromkeys(str(row[0]) for row in around)
    among, more = await graph_query.edges_among(context, list(ids)[:most], reach.types)
    reader, cut = pattern.NodeReader(context.schema, context.catalog), more or len(ids) > most
    notes = ["There is more around them than the limit."] if cut else []
    rows, title = [_edge_cells(reader, *row) for row in among], f"{end.shown} around {start.shown} by {reach.shown}"
    return await context.results.keep_table(_EDGES, rows, title=title, cut=cut, notes=notes)


def _edge_cells(reader: pattern.NodeReader, source: Any, type_: Any, target: Any) -> tuple[Cell, ...]:
    """Return the cells of a relationship, whose ends are nodes as queries give them."""
    ends = [(each.id, each.type, reader.name(each)) for each in map(reader.node, (source, target))]
    return (*ends[0], str(type_), *ends[1])


@operator(
    "start* end* relationship_types direction max_hops shortest limit",
    shortest={"type": "boolean"},
    limit=integer(1, 500),
)
async def paths(arguments: Arguments, context: OperatorContext) -> Result:
    """Find how nodes are connected with other nodes: the shortest paths between them (or all, with shortest false) of at most six
    hops, a row for each relationship. Take it when a question asks for a chain, a route or a connection between two named things."""
    given, text = await graph_query.begin(arguments, context)
    start, end = (pattern.parse_nodes(given[name], text.schema) for name in ("start", "end"))
    if end.ids is not None and len(end.ids) > _MOST_ENDS:
        hint = f"End at {_MOST_ENDS} at most, or say their type and filters"
        raise OperatorFault("too large", f"{end.shown} has {len(end.ids):,} nodes", hint)
    reach = pattern.parse_reach(given, text.schema, hops=4)
    pattern.parse_end(text.schema, start, reach, [each.name for each in end.types])
    begin, conditions, steps = pattern.begin_steps(text, start, end, reach)
    if end.ids is not None:
        conditions.append(text.one_of_ids("n1", end.types, end.ids))
    conditions += pattern.filter_conditions(text, "n1", end.filters)
    conditions.append(f"{text.form('identity', 'n0')} <> {text.form('identity', 'n1')}")
    path, length = text.paths(steps, begin, conditions, given.get("shortest", True))
    if begin != "MATCH":
        text.add(f"WITH {path}, {length} AS h0 WHERE h0 IS NOT NULL")
        length = "h0"
    names = text.returns((ResultColumn(name="path", type="string"), _HOPS), (path, length))
    text.add(f"ORDER BY {names[1]}")
    most = given.get("limit", 25)
    text.limit(most)
    found, cut = await graph_query.fetch_rows(context, text.compiled(), most=most)
    reader, rows = pattern.NodeReader(context.schema, context.catalog), list[tuple[Cell, ...]]()
    for number, (each, _) in enumerate(found, 1):
        nodes = {str(node["id"]): node for node in each["nodes"]}
        for edge in each["edges"]:
            ends = [nodes[str(edge[end])] for end in ("source", "target")]
            rows.append((number, *_edge_cells(reader, ends[0], edge["type"], ends[1])))
    counts = ", ".join(f"{many} of {hops} hops" for hops, many in sorted(Counter(hops for _, hops in found).items()))
    notes = [f"Paths: {counts}." if found else "There is no path."]
    notes += ["There are more paths than the limit."] if cut else []
    columns = (ResultColumn(name="path", type="integer"), *_EDGES)
    title = f"paths from {start.shown} to {end.shown} by {reach.shown}"
    return await context.results.keep_table(columns, rows, title=title, cut=cut, notes=notes)


@operator(
    "start* relationship_types direction relationship_filters neighbour_type neighbour_filters at_least at_most order limit",
    at_least=integer(0),
    at_most=integer(0),
    order=choice("descending", "ascending"),
)
async def degree(arguments: Arguments, context: OperatorContext) -> Result:
    """Count the different neighbours of each node, and keep nodes with at_least or at_most so many: in three or more sites, in two
    or more periods, without any (at_most 0). Parallel relationships count once."""
    given, text = await graph_query.begin(arguments, context)
    start, reach, end = pattern.parse_neighbours({**given, "max_hops": 1}, text.schema)
    most = given.get("at_most")  # nodes without neighbours count where at most so many are asked for, or at least 0
    least = given.get("at_least", 1 if most is None else 0)
    if most is not None and most < least:
        raise OperatorFault("arguments", f"at least {least} and at most {most} is no range", "Turn them round")
    pattern.match_reach(text, start, reach, end, keep_starts=least == 0)
    text.add(f"WITH n0, count(DISTINCT {text.form('identity', 'n1')}) AS a0")
    bounds = [f"a0 >= {text.parameter(least)}"] if least else []
    text.where(bounds + ([f"a0 <= {text.parameter(most)}"] if most is not None else []))
    node = pattern.node_column(start.type.name if start.type else "")
    columns = (node, _NAME, ResultColumn(name="count", type="integer"))
    name = pattern.name_value(text, "n0", start.types, context.catalog)
    names = text.returns(columns, (text.node_id("n0", start.types), name, "a0"))
    text.add(f"ORDER BY a0{'' if given.get('order') == 'ascending' else ' DESC'}, {names[0]}")
    limit = given.get("limit", DEFAULT_ROWS)
    text.limit(limit)
    title = f"{start.shown} by the number of {end.shown} by {reach.shown}"
    return await graph_query.run_query(context, text, columns, title=title, most=limit, filters=start.filters)


def _group_by(forms: ArgumentForms) -> Schema:
    known = {"enum": ["node", "neighbour", *forms.property["enum"]]} if "enum" in forms.property else {}
    return {"type": "string", "description": "node: one row for each start", **known}


@operator(
    "start* relationship_types direction max_hops relationship_filters neighbour_type neighbour_filters group_by aggregations* relationship_property order_by descending limit",
    group_by=_group_by,
    order_by={"type": "string", "description": "a column: count, sum_price"},
)
async def aggregate_neighbours(arguments: Arguments, context: OperatorContext) -> Result:
    """Count, sum, average, or find the extremes of the neighbours of nodes: for each start (group_by node), each neighbour, or each
    value of a property of the neighbours. Distinct neighbours count once. With relationship_property it aggregates what the
    relationships carry (cost, quantity)."""
    given, text = await graph_query.begin(arguments, context)
    start, reach, end = pattern.parse_neighbours(given, text.schema)
    by, along = given.get("group_by", "node"), str(given.get("relationship_property", ""))
    if along and reach.hops > 1:
        raise OperatorFault("arguments", "relationship_property goes with one hop", "Leave max_hops out")
    owners = (reach.types or text.schema.relationships) if along else end.types
    aggregations = pattern.parse_aggregations(given["aggregations"], owners, along)
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
        groups.append((_NAME, pattern.name_value(text, carried, of.types, context.catalog)))
    else:
        key = pattern.property_of(end.types, by)
        groups = [(pattern.columns_of([key])[0], text.property("n1", key.name))]
    columns = graph_query.write_groups(text, groups, aggregations, "e0" if along else "n1", given, carried=carried)
    title, most = f"{end.shown} of {start.shown} by {reach.shown}", given.get("limit", DEFAULT_ROWS)
    filters = (*start.filters, *end.filters, *reach.filters)
    return await graph_query.run_query(context, text, columns, title=title, most=most, filters=filters)
