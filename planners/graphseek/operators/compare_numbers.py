"""``compare``: one number for each of several things, in order: which has the most, the least, the dearest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import Compiled, CypherText, Dialect
from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.graph_query import TableQuery, as_cell, compiled_for, fetch_rows, table_of
from planners.graphseek.operators.neighbour_reach import match_reach, parse_end, parse_reach
from planners.graphseek.operators.node_selection import Selection, match_selection, node_type, parse_selection
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.table_arguments import object_schema
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.operators.value_aggregation import COUNT, Aggregation, aggregation_text, parse_aggregations
from planners.graphseek.results.result import Cell, GraphPart, Result, ResultColumn
from planners.stores.graph_schema import GraphSchema, NodeType

__all__ = ["OPERATOR", "compile_query"]

_PLACE = ResultColumn(name="place", type="integer")
_REACH = ("relationship_types", "direction", "max_hops")


def compile_query(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog, dialect: Dialect
) -> TableQuery:
    """Return the query of one of them, ``start``: of its own nodes, or of what it reaches."""
    text = CypherText(schema, dialect)
    start = parse_selection(arguments["start"], schema)
    aggregation = _write(text, start, arguments)
    text.returns((aggregation.column,), (aggregation_text(text, "n1", aggregation),))
    columns = (ResultColumn(name="of", type="string"), aggregation.column)
    return TableQuery(compiled=text.compiled(), columns=columns, title=start.shown, start=start, most=1)


def _compiled_together(arguments: Mapping[str, Any], starts: Sequence[Selection], context: OperatorContext) -> Compiled:
    """Return one query of several, whose rows are the place of each among them and its number."""
    text = CypherText(context.schema, context.dialect)
    for at, start in enumerate(starts):
        if at:
            text.add("UNION ALL")
        aggregation = _write(text, start, arguments)
        text.add(f"WITH {aggregation_text(text, 'n1', aggregation)} AS a0")
        text.returns((_PLACE, aggregation.column), (text.parameter(at), "a0"))
    return text.compiled()


def _write(text: CypherText, start: Selection, arguments: Mapping[str, Any]) -> Aggregation:
    """Write the clauses that match each node once that counts, ``n1``, and return what is computed of them."""
    schema, measure = text.schema, arguments["measure"]
    names = [measure["node_type"]] if measure.get("node_type") else []
    if any(arguments.get(name) for name in _REACH):
        reach = parse_reach(arguments, schema)
        end = parse_end(schema, start, reach, names)
        match_reach(text, start, reach, end)
        owners: Sequence[NodeType] = end.types
    else:
        types = [node_type(schema, name) for name in names]
        match_selection(text, "n1", start)
        if types and start.type is None:
            text.add("WITH n1")
            text.where(text.one_of_types("n1", types))
        elif types and start.type not in types:
            text.add("WITH n1 WHERE false")
        owners = types or start.types
    text.add("WITH DISTINCT n1")
    return _aggregation(measure, owners)


def _aggregation(measure: Mapping[str, Any], owners: Sequence[Any]) -> Aggregation:
    if measure["kind"] == "count":
        return COUNT
    if "grouping_type" not in measure:
        raise OperatorFault("arguments", "the aggregation has no grouping_type", "Give COUNT, SUM, AVG, MIN or MAX")
    return parse_aggregations([measure], owners)[0]


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    raws = [{"handle": each} if isinstance(each, str) else each for each in arguments["of"]]
    rows: list[tuple[Cell, Cell]] = []
    asked: list[Mapping[str, Any]] = []
    for raw in raws:
        if part := await _graph(raw, arguments, context):
            rows.append((str(raw["handle"]), _of_graph(part, arguments["measure"])))
        else:
            asked.append(raw)
    queries = [await compiled_for(compile_query, {**arguments, "start": raw}, context) for raw in asked]
    column = queries[-1].columns[1] if queries else ResultColumn(name="count", type="integer")
    rows += zip([each.title for each in queries], await _numbers(queries, arguments, context), strict=True)
    ordered = sorted(rows, key=lambda row: str(row[0]))
    ordered.sort(key=lambda row: _rank(row[1]), reverse=True)
    table = table_of((ResultColumn(name="of", type="string"), column), ordered)
    return await context.results.keep_table(table, title=f"comparison by {column.name}", most=len(ordered))


async def _numbers(queries: Sequence[TableQuery], arguments: Mapping[str, Any], context: OperatorContext) -> list[Cell]:
    """Return the number of each: of one query where they have one type."""
    if len({each.columns[1].type for each in queries}) == 1 < len(queries):
        compiled = _compiled_together(arguments, [each.start for each in queries], context)
        found, _ = await fetch_rows(context, compiled, most=len(queries))
        by_place = {place: as_cell(number) for place, number in found}
        return [by_place.get(at) for at in range(len(queries))]
    numbers = list[Cell]()
    for each in queries:
        found, _ = await fetch_rows(context, each.compiled, most=1)
        numbers.append(as_cell(found[0][0]) if found else None)
    return numbers


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
