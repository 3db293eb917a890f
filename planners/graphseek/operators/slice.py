"""Operators that follow relationships: to the nodes that are reached, to what is around or between nodes, to the flows into them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText
from planners.graphseek.operators import graph_query, pattern
from planners.graphseek.operators.graph_query import DEFAULT_ROWS, TableQuery
from planners.graphseek.operators.operator import (
    Arguments,
    OperatorContext,
    OperatorFault,
    choice,
    integer,
    operator,
)
from planners.graphseek.operators.retrieve import plan_values
from planners.graphseek.results.result import Cell, GraphPart, Result, ResultColumn, ResultEdge, ResultNode
from planners.stores.property_graph import Properties, Value

_HOPS = ResultColumn(name="hops", type="integer")
_HOP = ResultColumn(name="hop", type="integer")
_NODE = ResultColumn(name="node", type="node")
_TEXTS = (ResultColumn(name="type", type="string"), ResultColumn(name="name", type="string"))
_MOST_PATHS = 500
_MOST_ENDS = 500
"""Ids of ends: engines compare each with each node that is reached."""
_AROUND = 200  # nodes


def compile_traverse(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of the nodes that are reached by one hop or more."""
    start, reach = pattern.parse_nodes(arguments["start"], text.schema), pattern.parse_reach(arguments, text.schema)
    least, most = arguments.get("min_hops", 1), arguments.get("limit", DEFAULT_ROWS)
    if not 0 <= least <= reach.hops:
        raise OperatorFault("arguments", f"min_hops is {least} and max_hops {reach.hops}", "Raise max_hops")
    names = [arguments["node_type"]] if arguments.get("node_type") else []
    end = pattern.parse_end(text.schema, start, reach, names, arguments.get("filters") or ())
    shown = end.shown
    if least == 0 and not names:
        types = tuple(each for each in text.schema.nodes if each in end.types or each in start.types)
        shown = "/".join(each.name for each in types[:4]) + (" and others" if len(types) > 4 else "")
        end = pattern.Nodes(types=types, filters=end.filters, shown=shown)
    pattern.match_nearest(text, start, reach, end)
    if least > 1:
        text.where([f"h0 >= {text.parameter(least)}"])
    columns = return_nodes(text, end, (_HOPS,), ("h0",))
    if reach.hops > 1:
        text.add(f"ORDER BY h0, {text.node_id('n1', end.types)}")
    text.limit(most)
    title = f"{shown} from {start.shown} by {reach.shown}"
    return TableQuery(text.compiled(), columns, title, most, start, reach, end)


def return_nodes(
    text: CypherText, end: pattern.Nodes, columns: Sequence[ResultColumn] = (), values: Sequence[str] = ()
) -> tuple[ResultColumn, ...]:
    """Write RETURN of ``n1``: its id and properties where it is of one type, else the node itself; then further columns.

    :returns: the columns of the table.
    """
    if end.type is None:
        text.returns((_NODE, *columns), ("n1", *values))
        return (_NODE, *_TEXTS, *columns)
    keys = end.type.properties
    of_node = (pattern.node_column(end.type.name, [key.name for key in keys]), *pattern.columns_of(keys))
    named = [text.node_id("n1", (end.type,)), *(text.property("n1", key.name) for key in keys)]
    text.returns((*of_node, *columns), (*named, *values))
    return (*of_node, *columns)


@operator(
    "start* relationship_types direction max_hops relationship_filters min_hops node_type filters limit",
    compile=compile_traverse,
    min_hops=integer(0, 6),
)
async def traverse(arguments: Arguments, context: OperatorContext) -> Result:
    """Go from nodes along relationships, one hop or up to six, and list the nodes that are reached, each once, with its least
    number of hops. Give node_type to keep one type, filters on what is reached, relationship_filters on the way."""
    query = await graph_query.compiled_for(compile_traverse, arguments, context)
    reader = pattern.NodeReader(context.schema, context.catalog)
    is_mixed = not query.columns[0].node_type

    def read(row: graph_query.Row) -> tuple[Cell, ...]:
        if not is_mixed:
            return tuple(map(graph_query.as_cell, row))
        node = reader.node(row[0])
        return (node.id, node.type, reader.name(node), *map(graph_query.as_cell, row[1:]))

    if arguments.get("min_hops") != 0 or query.end is None:
        return await graph_query.keep_query(context, query, read=read if is_mixed else None)
    found: dict[Cell, tuple[Cell, ...]] = {}
    queries, start, end = [query.compiled], query.start, query.end
    if start.labels & end.labels:
        text = CypherText(context.schema, context.dialect)
        pattern.match_nodes(text, "n1", start)
        text.add("WITH n1, 0 AS h0")
        of_type = text.one_of_types("n1", end.types) if end.is_narrowed else []
        text.where([*of_type, *pattern.node_conditions(text, "n1", end)])
        return_nodes(text, end, (_HOPS,), ("h0",))
        text.limit(query.most)
        queries.insert(0, text.compiled())
    for each in queries:
        rows, _ = await graph_query.fetch_rows(context, each, most=query.most + 1)
        for row in map(read, rows):
            found.setdefault(row[0], row)
    return await graph_query.keep_rows(context, query, list(found.values()))


def compile_subgraph(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of the nodes around the starts, the nearest first."""
    start, reach, end = _nearest(arguments, text, hops=1, direction="both")
    text.returns((_NODE, _HOPS), ("n1", "h0"))
    text.add(f"ORDER BY h0, {text.node_id('n1', end.types)}")
    most = arguments.get("limit", _AROUND)
    text.limit(most)
    title = f"{end.shown} around {start.shown} by {reach.shown}"
    return TableQuery(text.compiled(), (_NODE, _HOPS), title, most, start, reach, end)


def compile_impact(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of the nodes that are reached, the nearest first.

    By default 4 hops: the longest chain of the paper's questions about shortages goes from a module over assemblies to a region.
    """
    start, reach, end = _nearest(arguments, text, hops=4, direction="out")
    text.returns((_HOP, _NODE), ("h0", "n1"))
    text.add(f"ORDER BY h0, {text.node_id('n1', end.types)}")
    text.limit(DEFAULT_ROWS)
    title = f"what {start.shown} has an effect on, by {reach.shown}"
    return TableQuery(text.compiled(), (_HOP, _TEXTS[0], _NODE, _TEXTS[1]), title, DEFAULT_ROWS, start, reach, end)


def _nearest(
    arguments: Arguments, text: CypherText, *, hops: int, direction: pattern.Direction
) -> tuple[pattern.Nodes, pattern.Reach, pattern.Nodes]:
    """Match the nodes that are reached, each once; ``hops`` and ``direction`` are defaults."""
    start = pattern.parse_nodes(arguments["start"], text.schema)
    reach = pattern.parse_reach(arguments, text.schema, hops=hops, direction=direction)
    end = pattern.parse_end(text.schema, start, reach, arguments.get("node_types") or ())
    pattern.match_nearest(text, start, reach, end)
    return start, reach, end


async def _surroundings(
    arguments: Arguments, context: OperatorContext
) -> tuple[GraphPart, list[ResultNode], bool, str]:
    """Return the graph around the starts, the starts, whether there is more, and a title.

    :raises OperatorFault: when there are no starts, or there is nothing around them and it is known why.
    """
    query = await graph_query.compiled_for(compile_subgraph, arguments, context)
    starts, cut = await graph_query.nodes_of(context, query.start, most=query.most)
    if not starts:
        await graph_query.explain_empty(context, replace(query, reach=None, end=None))
        raise OperatorFault("empty", f"there is no {query.start.shown}", "Look for it with find")
    rows, _ = await graph_query.fetch_rows(context, query.compiled, most=query.most + 1)
    if not rows:
        await graph_query.explain_empty(context, query)
    reader = pattern.NodeReader(context.schema, context.catalog)
    found = {each.id: each for each in (*starts, *(reader.node(row[0]) for row in rows))}
    nodes = list(found.values())[: query.most]
    edges, more = await graph_query.edges_among(
        context, [each.id for each in nodes], query.reach.types if query.reach else ()
    )
    part = GraphPart(nodes=tuple(nodes), edges=tuple(edges))
    return part, starts, cut or more or len(found) > query.most, query.title


@operator(
    "start* relationship_types direction max_hops node_types limit",
    compile=compile_subgraph,
    max_hops=integer(1, 4),
    limit=integer(1, graph_query.MOST_NODES),
)
async def subgraph(arguments: Arguments, context: OperatorContext) -> Result:
    """The neighbourhood of nodes as a graph: nodes within one to four hops, in either direction unless one is given, and the
    relationships among them. Take it to show or explain how things hang together; to list or count, take traverse or degree."""
    part, _, cut, title = await _surroundings(arguments, context)
    notes = ["There is more around them than the limit."] if cut else []
    return await context.results.keep_graph(part, title=title, cut=cut, notes=notes)


@operator("start* relationship_types direction max_hops node_types", compile=compile_impact)
async def impact(arguments: Arguments, context: OperatorContext) -> Result:
    """What is affected when nodes fail, change or run short: everything that is reached from them in up to six hops, each node once
    at its least hop, with counts by type. Give relationship_types along which an effect travels, and node_types to keep."""
    query = await graph_query.compiled_for(compile_impact, arguments, context)
    found, _ = await graph_query.fetch_rows(context, query.compiled, most=query.most + 1)
    if not found:
        await graph_query.explain_empty(context, query)
    reader = pattern.NodeReader(context.schema, context.catalog)
    nodes = [(int(hop), reader.node(value)) for hop, value in found]
    rows = [(hop, node.type, node.id, reader.name(node)) for hop, node in nodes]
    counts = Counter(row[1] for row in rows[: query.most])
    notes = [f"By type: {', '.join(f'{name} {count:,}' for name, count in sorted(counts.items()))}."] if rows else []
    return await graph_query.keep_rows(context, query, rows, notes)


def compile_paths(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of the paths, the shortest first."""
    start, end = (
        pattern.parse_nodes(arguments["start"], text.schema),
        pattern.parse_nodes(arguments["end"], text.schema),
    )
    if end.ids is not None and len(end.ids) > _MOST_ENDS:
        hint = f"End at {_MOST_ENDS} at most, or say their type and filters"
        raise OperatorFault("too large", f"{end.shown} has {len(end.ids):,} nodes", hint)
    reach = pattern.parse_reach(arguments, text.schema, hops=4)
    pattern.parse_end(text.schema, start, reach, [each.name for each in end.types])
    begin, conditions, left = "MATCH", list[str](), "(n0)"
    if start.ids is not None:
        begin = text.dialect.choose(text, "n0", start.type, start.ids)
    else:
        conditions, left = pattern.node_conditions(text, "n0", start), text.node("n0", start.types)
    if end.ids is not None:
        conditions.append(text.one_of_ids("n1", end.types, end.ids))
    conditions += pattern.node_conditions(text, "n1", end)
    conditions.append(f"{text.identity('n0')} <> {text.identity('n1')}")
    steps = pattern.steps_of(text, left, text.node("n1", end.types), reach)
    path, length = text.dialect.ways(text, steps, begin, conditions, arguments.get("shortest", True))
    if begin != "MATCH":
        text.add(f"WITH {path}, {length} AS h0 WHERE h0 IS NOT NULL")
        length = "h0"
    columns = (ResultColumn(name="path", type="string"), _HOPS)
    names = text.returns(columns, (path, length))
    text.add(f"ORDER BY {names[1]}")
    most = arguments.get("limit", 25)
    text.limit(most)
    title = f"paths from {start.shown} to {end.shown} by {reach.shown}"
    meant = pattern.Nodes(types=end.types, filters=end.filters, shown=end.shown, is_narrowed=True)
    return TableQuery(text.compiled(), columns, title, most, start, reach, meant)


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
    rows, _ = await graph_query.fetch_rows(context, query.compiled, most=query.most + 1)
    if not rows:
        await graph_query.explain_empty(context, query)
    kept, is_cut = rows[: query.most], len(rows) > query.most
    reader = pattern.NodeReader(context.schema, context.catalog)
    nodes = list({node.id: node for path, _ in kept for node in map(reader.node, path["nodes"])}.values())
    found: dict[str, ResultEdge] = {}  # equal ones between the same nodes are one, as paths do not tell them apart
    for path, _ in kept:
        for each in path["edges"]:
            edge = graph_query.edge_of(each["source"], each["type"], each["target"], each["properties"])
            found.setdefault(repr(edge), edge)
    edges = list(found.values())
    part = GraphPart(nodes=tuple(nodes[: graph_query.MOST_NODES]), edges=tuple(edges[: graph_query.MOST_EDGES]))
    counts = ", ".join(f"{number} of {hops} hops" for hops, number in sorted(Counter(hops for _, hops in kept).items()))
    notes = [f"Paths: {counts}." if kept else "There is no path."]
    notes += ["There are more paths than the limit."] if is_cut else []
    cut = is_cut or len(nodes) > graph_query.MOST_NODES or len(edges) > graph_query.MOST_EDGES
    return await context.results.keep_graph(part, title=query.title, cut=cut, notes=notes)


@operator("handle* column max_hops", group="retrieval", handle=lambda forms: forms.handle("t"), max_hops=integer(0, 2))
async def to_graph(arguments: Arguments, context: OperatorContext) -> Result:
    """Turn a table of nodes that is a result into a graph: the nodes and the relationships among them (max_hops 0), or also what is
    around them. Name the column where the table has several of nodes."""
    handle, hops = pattern.stored(context, arguments["handle"], "table").handle, arguments.get("max_hops", 0)
    start = await pattern.resolve_nodes(
        {name: arguments[name] for name in ("handle", "column") if name in arguments}, context
    )
    if hops:
        named = {name: arguments[name] for name in ("handle", "column") if name in arguments}
        part, _, cut, _ = await _surroundings(
            {"start": named, "max_hops": hops, "limit": graph_query.MOST_NODES}, context
        )
    else:
        nodes, cut = await graph_query.nodes_of(context, start, most=graph_query.MOST_NODES)
        edges, more = await graph_query.edges_among(context, [each.id for each in nodes])
        part, cut = GraphPart(nodes=tuple(nodes), edges=tuple(edges)), cut or more
    notes = [] if part.edges else ["There are no relationships among them."]
    return await context.results.keep_graph(part, title=f"nodes of {handle}", cut=cut, notes=notes)


def compile_blueprints(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of the nodes on the flows."""
    return compile_subgraph(_flows(arguments), text, catalog)


def _flows(arguments: Arguments) -> dict[str, Any]:
    """Return the arguments with the defaults: flows lead along relationships into the start."""
    if arguments.get("direction") == "both":
        raise OperatorFault("arguments", "flows have a direction", "Use in, for what leads to the start, or out")
    return {"max_hops": 3, "direction": "in", **arguments, "limit": graph_query.MOST_NODES}


@operator(
    "start* relationship_types direction max_hops plan_or_actual",
    compile=compile_blueprints,
    max_hops=integer(1, 4),
    direction=choice("in", "out"),
)
async def blueprints(arguments: Arguments, context: OperatorContext) -> Result:
    """The unique blueprint (production plan) of a product as a graph: everything that flows into it within three hops, where flows
    that differ only in period and cost are merged, counted, and their amounts summed. plan_or_actual keeps one kind."""
    whole, schema, catalog = _flows(arguments), context.schema, context.catalog
    part, starts, cut, title = await _surroundings(whole, context)
    if said := arguments.get("plan_or_actual"):
        part = _of_plan(part, str(said), context)
    ids = [each.id for each in starts]
    flows = _flows_into(part, ids, whole["max_hops"], along=whole["direction"] == "in")
    amounts = {each.name: pattern.properties_with_role(each, catalog, "amount") for each in pattern.owners_of(schema)}
    merged = _merged_flows(flows, ids, pattern.NodeReader(schema, catalog).name, amounts)
    before, after = (f"{len(each.nodes):,} nodes and {len(each.edges):,} relationships" for each in (flows, merged))
    notes = [f"Equal flows were merged: {before} became {after}; merged counts them."]
    notes += ["There is more than the limit of a graph."] if cut else []
    return await context.results.keep_graph(merged, title=f"blueprint: {title}", cut=cut, notes=notes)


def _of_plan(part: GraphPart, said: str, context: OperatorContext) -> GraphPart:
    """Return a graph without what is said to be of the other kind; what says nothing stays.

    :raises OperatorFault: when no property of its types says which it is.
    """
    meant: dict[str, tuple[str, set[str]]] = {}
    for owner in pattern.owners_of(context.schema):
        names = pattern.properties_with_role(owner, context.catalog, "plan or actual")
        for key in (each for each in owner.properties if each.name in names):
            values = plan_values(key, said, owner, context.catalog)
            meant[owner.name] = (key.name, {str(value).lower() for value in values})
    if not meant.keys() & ({each.type for each in part.nodes} | {each.type for each in part.edges}):
        raise OperatorFault("arguments", f"nothing here says whether it is {said[:40]}", "Leave plan_or_actual out")

    def is_meant(each: ResultNode | ResultEdge) -> bool:
        name, values = meant.get(each.type, ("", set()))
        return name not in each.properties or str(each.properties[name]).lower() in values

    nodes = tuple(filter(is_meant, part.nodes))
    kept = {each.id for each in nodes}
    return GraphPart(nodes=nodes, edges=tuple(e for e in part.edges if is_meant(e) and {e.source, e.target} <= kept))


def _flows_into(part: GraphPart, starts: Sequence[str], hops: int, *, along: bool) -> GraphPart:
    """Return the nodes and relationships on flows of at most so many hops that lead to the starts, or from them."""
    into: dict[str, list[ResultEdge]] = defaultdict(list)
    for edge in part.edges:
        into[edge.target if along else edge.source].append(edge)
    at, seen, edges = list(starts), set(starts), list[ResultEdge]()
    for _ in range(hops):
        followed = [edge for node in at for edge in into[node]]
        further = dict.fromkeys(edge.source if along else edge.target for edge in followed)
        at = [node for node in further if node not in seen]
        edges += followed
        seen.update(at)
    return GraphPart(nodes=tuple(each for each in part.nodes if each.id in seen), edges=tuple(edges))


def _merged_flows(
    part: GraphPart, starts: Sequence[str], name: Callable[[ResultNode], str], amounts: Mapping[str, Sequence[str]]
) -> GraphPart:
    """Return a graph with equal flows merged; ``merged`` of nodes and relationships counts them.

    Two nodes are merged when they have the same type and name, and the same holds for what flows into them and what they flow into, as
    far as the graph goes. So two variants of an assembly that differ in one module stay two; ``starts`` stay apart.
    """
    colours = {each.id: (each.type, each.id if each.id in starts else name(each)) for each in part.nodes}
    groups = _groups(part, colours)
    members: dict[int, list[ResultNode]] = defaultdict(list)
    for node in part.nodes:
        members[groups[node.id]].append(node)
    parallel: dict[tuple[str, str, str], list[ResultEdge]] = defaultdict(list)
    for edge in part.edges:
        source, target = (members[groups[end]][0].id for end in (edge.source, edge.target))
        parallel[edge.type, source, target].append(edge)
    nodes = tuple(
        ResultNode(id=of[0].id, type=of[0].type, properties=_merged(of, amounts.get(of[0].type, ())))
        for of in members.values()
    )
    edges = tuple(
        ResultEdge(type=type_, source=source, target=target, properties=_merged(of, amounts.get(type_, ())))
        for (type_, source, target), of in parallel.items()
    )
    return GraphPart(nodes=nodes, edges=edges)


def _groups(part: GraphPart, colours: Mapping[str, Hashable]) -> dict[str, int]:
    """Return the group of each node: colours are refined by those of the neighbours until nothing changes."""
    numbers: dict[Hashable, int] = {}
    groups = {node: numbers.setdefault(colour, len(numbers)) for node, colour in colours.items()}
    while True:
        beside: dict[str, set[tuple[str, str, int]]] = defaultdict(set)
        for edge in part.edges:
            beside[edge.target].add((edge.type, "in", groups[edge.source]))
            beside[edge.source].add((edge.type, "out", groups[edge.target]))
        refined: dict[Hashable, int] = {}
        finer = {
            node: refined.setdefault((group, frozenset(beside[node])), len(refined)) for node, group in groups.items()
        }
        if len(refined) == len(set(groups.values())):
            return groups
        groups = finer


def _merged(of: Sequence[ResultNode | ResultEdge], amounts: Sequence[str]) -> Properties:
    """Return what all have in common; amounts are summed."""
    kept: dict[str, Value] = {}
    for name in dict.fromkeys(name for each in of for name in each.properties):
        values = [each.properties.get(name) for each in of]
        numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        if name in amounts and numbers:
            kept[name] = sum(numbers)
        elif values[0] is not None and all(value == values[0] for value in values):
            kept[name] = values[0]
    return {**kept, "merged": len(of)}
