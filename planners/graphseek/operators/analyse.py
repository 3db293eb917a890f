"""Operators that count and compute over the neighbours of nodes, and compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText
from planners.graphseek.operators import graph_query, pattern
from planners.graphseek.operators.graph_query import DEFAULT_ROWS, TableQuery
from planners.graphseek.operators.operator import (
    ArgumentForms,
    Arguments,
    OperatorContext,
    OperatorFault,
    Schema,
    choice,
    integer,
    object_schema,
    operator,
)
from planners.graphseek.results.result import Cell, Result, ResultColumn

_NAME = ResultColumn(name="name", type="string")
_REACH = ("relationship_types", "direction", "max_hops")


def compile_degree(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of nodes and their numbers of neighbours."""
    start, reach, end = pattern.parse_neighbours({**arguments, "max_hops": 1}, text.schema)
    most = arguments.get("at_most")  # nodes without neighbours count where at most so many are asked for, or at least 0
    least = arguments.get("at_least", 1 if most is None else 0)
    if least < 0 or (most is not None and most < least):
        raise OperatorFault("arguments", f"at least {least} and at most {most} is no range", "Turn them round")
    pattern.match_reach(text, start, reach, end, keep_starts=least == 0)
    counted = text.identity("n1")
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
    is_bounded = least > 1 or most is not None  # then that there is none is an answer
    explained = (None, None) if is_bounded else (reach, end)
    return TableQuery(text.compiled(), columns, title, limit, start, *explained)


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
    return replace(query, reach=reach, end=end)


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


def _measure(forms: ArgumentForms) -> Schema:
    kind, named = choice("count", "aggregation"), forms.aggregation()["properties"]
    return object_schema(["kind"], kind=kind, node_type=forms.node_type, **named)


def compile_compare(arguments: Arguments, text: CypherText, catalog: SemanticCatalog) -> TableQuery:
    """Return the query of one of the things, ``start``: of its own nodes, or of what it reaches."""
    start = pattern.parse_nodes(arguments["start"], text.schema)
    aggregation = _write_compared(text, start, arguments)
    text.returns((aggregation.column,), (pattern.aggregation_text(text, "n1", aggregation),))
    columns = (ResultColumn(name="of", type="string"), aggregation.column)
    return TableQuery(text.compiled(), columns, start.shown, 1, start)


def _write_compared(text: CypherText, start: pattern.Nodes, arguments: Arguments) -> pattern.Aggregation:
    """Write the clauses that match each node once that counts, ``n1``, and return what is computed of them."""
    schema, measure = text.schema, arguments["measure"]
    names = [measure["node_type"]] if measure.get("node_type") else []
    if any(arguments.get(name) for name in _REACH):
        reach = pattern.parse_reach(arguments, schema)
        end = pattern.parse_end(schema, start, reach, names)
        pattern.match_reach(text, start, reach, end)
        owners = end.types
    else:
        types = tuple(pattern.node_type(schema, name) for name in names)
        pattern.match_nodes(text, "n1", start)
        if types and start.type is None:
            text.add("WITH n1")
            text.where(text.one_of_types("n1", types))
        elif types and start.type not in types:
            text.add("WITH n1 WHERE false")
        owners = types or start.types
    text.add("WITH DISTINCT n1")
    if measure["kind"] == "count":
        return pattern.COUNT
    if "grouping_type" not in measure:
        raise OperatorFault("arguments", "the aggregation has no grouping_type", "Give COUNT, SUM, AVG, MIN or MAX")
    return pattern.parse_aggregations([measure], owners)[0]


@operator(
    "of* measure* relationship_types direction max_hops",
    compile=compile_compare,
    of=lambda forms: forms.selections(),
    measure=_measure,
)
async def compare(arguments: Arguments, context: OperatorContext) -> Result:
    """Compare several things by one number, in order: how many nodes of a type each reaches (relationship_types, max_hops), or an
    aggregation over them; of graphs that are results, how many nodes of a type each has. Take it for: which of these uses most."""
    measure = arguments["measure"]
    is_counted = measure["kind"] == "count" and not any(arguments.get(name) for name in _REACH)
    rows, queries = list[tuple[Cell, Cell]](), list[TableQuery]()
    for each in arguments["of"]:
        raw: Mapping[str, Any] = {"handle": each} if isinstance(each, str) else each
        handle = str(raw.get("handle", ""))
        if is_counted and handle.startswith("g"):
            part = await context.results.graph(handle)
            rows.append((handle, sum(measure.get("node_type") in (None, node.type) for node in part.nodes)))
        else:
            queries.append(await graph_query.compiled_for(compile_compare, {**arguments, "start": raw}, context))
    column = queries[-1].columns[1] if queries else pattern.COUNT.column
    rows += zip([each.title for each in queries], await _numbers(queries, arguments, context), strict=True)
    ordered = sorted(rows, key=lambda row: str(row[0]))
    ordered.sort(key=lambda row: _rank(row[1]), reverse=True)
    table = graph_query.table_of((ResultColumn(name="of", type="string"), column), ordered)
    return await context.results.keep_table(table, title=f"comparison by {column.name}", most=len(ordered))


async def _numbers(queries: Sequence[TableQuery], arguments: Arguments, context: OperatorContext) -> list[Cell]:
    """Return the number of each: of one query, whose rows are the place of each and its number, where they have one type."""
    numbers = list[Cell]()
    if len({each.columns[1].type for each in queries}) == 1 < len(queries):
        text = CypherText(context.schema, context.dialect)
        for at, each in enumerate(queries):
            if at:
                text.add("UNION ALL")
            aggregation = _write_compared(text, each.start, arguments)
            text.add(f"WITH {pattern.aggregation_text(text, 'n1', aggregation)} AS a0")
            place = ResultColumn(name="place", type="integer")
            text.returns((place, aggregation.column), (text.parameter(at), "a0"))
        found, _ = await graph_query.fetch_rows(context, text.compiled(), most=len(queries))
        by_place = {place: graph_query.as_cell(number) for place, number in found}
        return [by_place.get(at) for at in range(len(queries))]
    for each in queries:
        found, _ = await graph_query.fetch_rows(context, each.compiled, most=1)
        numbers.append(graph_query.as_cell(found[0][0]) if found else None)
    return numbers


def _rank(value: Cell) -> tuple[bool, float, str]:
    """What orders values: none first, so that it comes last."""
    if isinstance(value, int | float):
        return True, float(value), ""
    return value is not None, 0.0, str(value or "")
