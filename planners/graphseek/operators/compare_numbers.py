"""``compare``: one number for each of several things, in order: which has the most, the least, the dearest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planners.graphs.graph_schema import GraphSchema
from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText, Dialect
from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.graph_query import TableQuery, as_cell, compiled_for, fetch_rows, table_of
from planners.graphseek.operators.neighbour_reach import match_reach, parse_end, parse_reach
from planners.graphseek.operators.node_selection import match_selection, node_type, parse_selection
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.table_arguments import object_schema
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.operators.value_aggregation import COUNT, Aggregation, aggregation_text, parse_aggregations
from planners.graphseek.results.result import Cell, GraphPart, Result, ResultColumn

__all__ = ["OPERATOR", "compile_query"]

_REACH = ("relationship_types", "direction", "max_hops")


def compile_query(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog, dialect: Dialect
) -> TableQuery:
    """Return the query of one of them, ``start``: of its own nodes, or of what it reaches."""
    text = CypherText(schema, dialect)
    start, measure = parse_selection(arguments["start"], schema), arguments["measure"]
    names = [measure["node_type"]] if measure.get("node_type") else []
    if any(arguments.get(name) for name in _REACH):
        reach = parse_reach(arguments, schema)
        end = parse_end(schema, start, reach, names)
        match_reach(text, start, reach, end)
        aggregation = _aggregation(measure, end.types)
    else:
        types = [node_type(schema, name) for name in names]
        match_selection(text, "n1", start)
        if types and start.type is None:
            text.add("WITH n1")
            text.where(text.one_of_types("n1", types))
        elif types and start.type not in types:
            text.add("WITH n1 WHERE false")
        aggregation = _aggregation(measure, types or start.types)
    text.add("WITH DISTINCT n1")
    text.returns((aggregation.column,), (aggregation_text(text, "n1", aggregation),))
    columns = (ResultColumn(name="of", type="string"), aggregation.column)
    return TableQuery(compiled=text.compiled(), columns=columns, title=start.shown, start=start, most=1)


def _aggregation(measure: Mapping[str, Any], owners: Sequence[Any]) -> Aggregation:
    if measure["kind"] == "count":
        return COUNT
    if "grouping_type" not in measure:
        raise OperatorFault("arguments", "the aggregation has no grouping_type", "Give COUNT, SUM, AVG, MIN or MAX")
    return parse_aggregations([measure], owners)[0]


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    column = ResultColumn(name="count", type="integer")
    rows: list[tuple[Cell, Cell]] = []
    for each in arguments["of"]:
        raw = {"handle": each} if isinstance(each, str) else each
        if part := await _graph(raw, arguments, context):
            rows.append((str(raw["handle"]), _of_graph(part, arguments["measure"])))
            continue
        query = await compiled_for(compile_query, {**arguments, "start": raw}, context)
        found, _ = await fetch_rows(context, query.compiled, most=1)
        column = query.columns[1]
        rows.append((query.title, as_cell(found[0][0]) if found else None))
    ordered = sorted(rows, key=lambda row: str(row[0]))
    ordered.sort(key=lambda row: _rank(row[1]), reverse=True)
    table = table_of((ResultColumn(name="of", type="string"), column), ordered)
    return await context.results.keep_table(table, title=f"comparison by {column.name}", most=len(ordered))


def _rank(value: Cell) -> tuple[bool, float, str]:
    """Return what orders values: none first, so that it comes last."""
    if isinstance(value, int | float):
        return True, float(value), ""
    return value is not None, 0.0, str(value or "")


async def _graph(raw: Mapping[str, Any], arguments: Mapping[str, Any], context: OperatorContext) -> GraphPart | None:
    """Return the graph whose own nodes are counted, where that is what is asked for."""
    handle = str(raw.get("handle", ""))
    is_counted = arguments["measure"]["kind"] == "count" and not any(arguments.get(name) for name in _REACH)
    if not (handle.startswith("g") and is_counted):
        return None
    return await context.results.graph(handle)


def _of_graph(part: GraphPart, measure: Mapping[str, Any]) -> int:
    """Return how many nodes a graph has: of flows that were merged, the merged ones."""
    wanted = measure.get("node_type")
    return sum(1 for node in part.nodes if wanted in (None, node.type))


def _forms(forms: ArgumentForms) -> dict[str, dict[str, Any]]:
    aggregation = forms.aggregation()["properties"]
    measure = {
        "kind": {"type": "string", "enum": ["count", "aggregation"]},
        "node_type": forms.node_type,
        **aggregation,
    }
    return {
        "of": forms.selections(),
        "measure": object_schema(["kind"], **measure),
        **forms.reach(),
    }


OPERATOR: Operator = TypedOperator(
    name="compare",
    description=(
        "Compare several things by one number, in order: how many nodes of a type each reaches (relationship_types, max_hops), or an "
        "aggregation over them; of graphs that are results, how many nodes of a type each has. Take it for: which of these uses most."
    ),
    forms=_forms,
    required=("of", "measure"),
    runs=_run,
)
