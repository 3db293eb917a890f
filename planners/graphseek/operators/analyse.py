"""Operators that count and compute over the neighbours of nodes."""

from __future__ import annotations

from dataclasses import replace

from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.operators import graph_query, pattern
from planners.graphseek.operators.cypher_text import CypherText
from planners.graphseek.operators.graph_query import DEFAULT_ROWS, TableQuery
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
from planners.graphseek.results.result import Result, ResultColumn

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
