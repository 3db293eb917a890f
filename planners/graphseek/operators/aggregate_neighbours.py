"""``aggregate_neighbours``: counts, sums and extremes over the neighbours of nodes, or over the relationships to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText, Dialect
from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.empty_result import explain_empty
from planners.graphseek.operators.graph_query import TableQuery, compiled_for, keep_query
from planners.graphseek.operators.group_rows import GroupColumn, write_groups
from planners.graphseek.operators.neighbour_reach import End, Reach, match_reach, parse_neighbours
from planners.graphseek.operators.node_naming import name_value, node_column
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.property_filter import Owner, property_of
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.operators.value_aggregation import Aggregation, column_type, parse_aggregations
from planners.graphseek.results.result import Result, ResultColumn
from planners.stores.graph_schema import GraphSchema

__all__ = ["OPERATOR", "compile_query"]

_NODE, _NEIGHBOUR = "node", "neighbour"


def compile_query(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog, dialect: Dialect
) -> TableQuery:
    """Return the query of groups of neighbours: those of one node, one neighbour, or those of one value."""
    start, reach, end = parse_neighbours(arguments, schema)
    group_by = arguments.get("group_by", _NODE)
    along = str(arguments.get("relationship_property", ""))
    aggregations = _aggregations(arguments, schema, reach, end, group_by)
    text = CypherText(schema, dialect)
    match_reach(text, start, reach, end)
    title = f"{end.shown} of {start.shown} by {reach.shown}"
    counted, carried = "e0" if along else "n1", ""
    if group_by in (_NODE, _NEIGHBOUR):
        if not along:
            text.add("WITH DISTINCT n0, n1")
        carried, type_, types = ("n0", start.type, start.types) if group_by == _NODE else ("n1", end.type, end.types)
        groups = [
            GroupColumn(column=node_column(type_.name if type_ else ""), value=text.node_id(carried, types)),
            GroupColumn(
                column=ResultColumn(name="name", type="string"), value=name_value(text, carried, types, catalog)
            ),
        ]
    else:
        if not along:
            text.add("WITH DISTINCT n1")
        key = property_of(end.types, group_by)
        column = ResultColumn(name=key.name, type=column_type(key))
        groups = [GroupColumn(column=column, value=text.property("n1", key.name))]
    query = write_groups(text, groups, aggregations, counted, arguments, title=title, start=start, carried=carried)
    return replace(query, reach=reach, end=end)


def _aggregations(
    arguments: Mapping[str, Any], schema: GraphSchema, reach: Reach, end: End, group_by: str
) -> tuple[Aggregation, ...]:
    along = str(arguments.get("relationship_property", ""))
    if along and reach.hops > 1:
        raise OperatorFault("arguments", "relationship_property goes with one hop", "Leave max_hops out")
    owners: tuple[Owner, ...] = (reach.types or schema.relationships) if along else end.types
    found = parse_aggregations(arguments["aggregations"], owners, along)
    if group_by == _NEIGHBOUR and not along and any(each.kind != "COUNT" or each.key for each in found):
        hint = "Use COUNT of *, a relationship_property, or group_by node"
        raise OperatorFault("arguments", "each neighbour is one node: there is nothing to aggregate", hint)
    return found


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    query = await compiled_for(compile_query, arguments, context)
    return await keep_query(context, query, explain=explain_empty(context, query))


def _forms(forms: ArgumentForms) -> dict[str, dict[str, Any]]:
    named = {"enum": [_NODE, _NEIGHBOUR, *forms.property["enum"]]} if "enum" in forms.property else {}
    along = {"relationship_property": forms.relationship_property()} if forms.has_relationship_properties else {}
    return {
        "start": forms.selection(),
        **forms.reach(filters=True),
        "neighbour_type": forms.node_type,
        "neighbour_filters": forms.filters(),
        "group_by": {"type": "string", "description": "node: one row for each start", **named},
        "aggregations": forms.aggregations(),
        **along,
        "order_by": {"type": "string", "description": "a column: count, sum_price"},
        "descending": {"type": "boolean"},
        "limit": forms.limit(),
    }


OPERATOR: Operator = TypedOperator(
    name="aggregate_neighbours",
    description=(
        "Count, sum, average, or find the extremes of the neighbours of nodes: for each start (group_by node), each neighbour, or each "
        "value of a property of the neighbours. Distinct neighbours count once. With relationship_property it aggregates what the "
        "relationships carry (cost, quantity)."
    ),
    forms=_forms,
    required=("start", "aggregations"),
    runs=_run,
)
