"""``degree``: how many different neighbours nodes have, and which have at least or at most so many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText, Dialect
from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.empty_result import explain_empty
from planners.graphseek.operators.graph_query import DEFAULT_ROWS, TableQuery, compiled_for, keep_query
from planners.graphseek.operators.neighbour_reach import match_reach, parse_neighbours
from planners.graphseek.operators.node_naming import name_value, node_column
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.property_filter import property_of
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Result, ResultColumn
from planners.stores.graph_schema import GraphSchema

__all__ = ["OPERATOR", "compile_query"]


def compile_query(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog, dialect: Dialect
) -> TableQuery:
    """Return the query of nodes and their numbers of neighbours."""
    start, reach, end = parse_neighbours({**arguments, "max_hops": 1}, schema)
    least, most = _bounds(arguments)
    text = CypherText(schema, dialect)
    match_reach(text, start, reach, end, keep_starts=least == 0)
    counted = text.dialect.identity("n1")
    if by := arguments.get("distinct_by"):
        counted = text.property("n1", property_of(end.types, by).name)
    text.add(f"WITH n0, count(DISTINCT {counted}) AS a0")
    bounds = [f"a0 >= {text.parameter(least)}"] if least else []
    bounds += [f"a0 <= {text.parameter(most)}"] if most is not None else []
    text.where(bounds)
    columns = (
        node_column(start.type.name if start.type else ""),
        ResultColumn(name="name", type="string"),
        ResultColumn(name="count", type="integer"),
    )
    values = (text.node_id("n0", start.types), name_value(text, "n0", start.types, catalog), "a0")
    names = text.returns(columns, values)
    text.add(f"ORDER BY a0{'' if arguments.get('order') == 'ascending' else ' DESC'}, {names[0]}")
    limit = arguments.get("limit", DEFAULT_ROWS)
    text.add(f"LIMIT {text.parameter(limit + 1)}")
    title = f"{start.shown} by the number of {end.shown} by {reach.shown}"
    query = TableQuery(compiled=text.compiled(), columns=columns, title=title, most=limit, start=start)
    is_bounded = least > 1 or most is not None  # then that there is none is an answer
    return query if is_bounded else replace(query, reach=reach, end=end)


def _bounds(arguments: Mapping[str, Any]) -> tuple[int, int | None]:
    """Return the bounds: nodes without neighbours count where at most so many are asked for, or at least 0."""
    most = arguments.get("at_most")
    least = arguments.get("at_least", 1 if most is None else 0)
    if least < 0 or (most is not None and most < least):
        raise OperatorFault("arguments", f"at least {least} and at most {most} is no range", "Turn them round")
    return least, most


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    query = await compiled_for(compile_query, arguments, context)
    return await keep_query(context, query, explain=explain_empty(context, query))


def _forms(forms: ArgumentForms) -> dict[str, dict[str, Any]]:
    return {
        "start": forms.selection(),
        **forms.reach(hops=0, filters=True),
        "neighbour_type": forms.node_type,
        "neighbour_filters": forms.filters(),
        "at_least": {"type": "integer", "minimum": 0},
        "at_most": {"type": "integer", "minimum": 0},
        "distinct_by": forms.property,
        "order": {"type": "string", "enum": ["descending", "ascending"]},
        "limit": forms.limit(),
    }


OPERATOR: Operator = TypedOperator(
    name="degree",
    description=(
        "Count the different neighbours of each node, and keep nodes with at_least or at_most so many: in three or more sites, in two "
        "or more periods, without any (at_most 0). Parallel relationships count once; distinct_by counts different values of a "
        "property instead."
    ),
    forms=_forms,
    required=("start",),
    runs=_run,
)
