"""``get_nodes``: nodes of a type that satisfy filters, or groups of them with aggregations (listing 2 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText, Dialect
from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.empty_result import explain_empty
from planners.graphseek.operators.graph_query import (
    DEFAULT_ROWS,
    TableQuery,
    as_cell,
    compiled_for,
    fetch_rows,
    keep_query,
    table_of,
)
from planners.graphseek.operators.group_rows import GroupColumn, write_groups
from planners.graphseek.operators.node_naming import node_column
from planners.graphseek.operators.node_selection import Selection, match_selection, parse_selection
from planners.graphseek.operators.operator import Operator, OperatorContext
from planners.graphseek.operators.property_filter import Filter, property_of
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.operators.value_aggregation import COUNT, column_type, parse_aggregations
from planners.graphseek.results.result import Result, ResultColumn
from planners.stores.graph_schema import GraphSchema

__all__ = ["OPERATOR", "compile_query"]


def compile_query(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog, dialect: Dialect
) -> TableQuery:
    """Return the query of nodes, or of groups of them."""
    text = CypherText(schema, dialect)
    selection = parse_selection({"type": arguments["node_type"], "filters": arguments.get("filters") or ()}, schema)
    if arguments.get("group_by") or arguments.get("aggregations"):
        match_selection(text, "n0", selection)
        return _grouped(text, arguments, selection)
    if order := arguments.get("order_by"):
        valued = Filter(key=property_of(selection.types, order), operator="is_not_null")
        match_selection(text, "n0", replace(selection, filters=(*selection.filters, valued)))
    else:
        match_selection(text, "n0", selection)
    return _listed(text, arguments, selection)


def _listed(text: CypherText, arguments: Mapping[str, Any], selection: Selection) -> TableQuery:
    (type_,) = selection.types
    keys = [property_of((type_,), name) for name in dict.fromkeys(arguments.get("properties") or ())]
    keys = keys or list(type_.properties)
    column = node_column(type_.name, [key.name for key in keys])
    columns = (column, *(ResultColumn(name=key.name, type=column_type(key)) for key in keys))
    values = [text.node_id("n0", (type_,)), *(text.property("n0", key.name) for key in keys)]
    names = text.returns(columns, values)
    if order := arguments.get("order_by"):
        text.add(f"ORDER BY {text.property('n0', order)}{' DESC' if arguments.get('descending') else ''}, {names[0]}")
    most = arguments.get("limit", DEFAULT_ROWS)
    text.add(f"LIMIT {text.parameter(most + 1)}")
    notes = (f"Nodes without {order} are left out.",) if order else ()
    return TableQuery(
        compiled=text.compiled(), columns=columns, title=selection.shown, most=most, start=selection, notes=notes
    )


def _grouped(text: CypherText, arguments: Mapping[str, Any], selection: Selection) -> TableQuery:
    (type_,) = selection.types
    keys = [property_of((type_,), name) for name in dict.fromkeys(arguments.get("group_by") or ())]
    groups = [
        GroupColumn(column=ResultColumn(name=key.name, type=column_type(key)), value=text.property("n0", key.name))
        for key in keys
    ]
    aggregations = parse_aggregations(arguments.get("aggregations") or (), (type_,)) or (COUNT,)
    by = ", ".join(key.name for key in keys)
    title = f"{selection.shown} by {by}" if keys else selection.shown
    return write_groups(text, groups, aggregations, "n0", arguments, title=title, start=selection)


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    query = await compiled_for(compile_query, arguments, context)
    explain = explain_empty(context, query)
    if arguments.get("aggregations") and not arguments.get("group_by"):
        rows, _ = await fetch_rows(context, query.compiled, most=1)
        cells = [tuple(as_cell(value) for value in row) for row in rows]
        if not any(cell for row in cells for cell in row):
            await explain()
        return await context.results.keep_table(table_of(query.columns, cells), title=query.title, most=query.most)
    return await keep_query(context, query, explain=explain)


def _forms(forms: ArgumentForms) -> dict[str, dict[str, Any]]:
    return {
        "node_type": forms.node_type,
        "filters": forms.filters(),
        "properties": {"type": "array", "items": forms.property},
        "group_by": {"type": "array", "items": forms.property},
        "aggregations": forms.aggregations(),
        "order_by": {"type": "string", "description": "a property, or the column of an aggregation: sum_price"},
        "descending": {"type": "boolean"},
        "limit": forms.limit(),
    }


OPERATOR: Operator = TypedOperator(
    name="get_nodes",
    description=(
        "List nodes of one type that satisfy filters on their own properties, or count, sum and average them, whole or in groups "
        "(group_by). For the highest or the latest, order_by with descending and a limit. It does not look at relationships."
    ),
    forms=_forms,
    required=("node_type",),
    runs=_run,
)
