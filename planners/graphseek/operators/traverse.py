"""``traverse``: the nodes within so many hops of others, each once, with the least number of its hops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText, Dialect
from planners.graphseek.operators.argument_forms import ArgumentForms
from planners.graphseek.operators.empty_result import explain_empty
from planners.graphseek.operators.graph_query import (
    DEFAULT_ROWS,
    ReadRow,
    Row,
    TableQuery,
    all_cells,
    compiled_for,
    fetch_rows,
    keep_query,
    table_of,
)
from planners.graphseek.operators.neighbour_reach import (
    End,
    Reach,
    end_conditions,
    match_reach,
    parse_end,
    parse_reach,
    write_least_hops,
)
from planners.graphseek.operators.node_naming import NodeReader, node_column
from planners.graphseek.operators.node_selection import Selection, match_selection, parse_selection
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.operators.value_aggregation import column_type
from planners.graphseek.results.result import Cell, Result, ResultColumn
from planners.stores.graph_schema import GraphSchema

__all__ = ["OPERATOR", "compile_query", "return_nodes"]

_HOPS = ResultColumn(name="hops", type="integer")
_MIXED = (
    ResultColumn(name="node", type="node"),
    ResultColumn(name="type", type="string"),
    ResultColumn(name="name", type="string"),
)


def compile_query(
    arguments: Mapping[str, Any], schema: GraphSchema, catalog: SemanticCatalog, dialect: Dialect
) -> TableQuery:
    """Return the query of the nodes that are reached by one hop or more."""
    start = parse_selection(arguments["start"], schema)
    reach = parse_reach(arguments, schema)
    least, most = arguments.get("min_hops", 1), arguments.get("limit", DEFAULT_ROWS)
    if not 0 <= least <= reach.hops:
        raise OperatorFault("arguments", f"min_hops is {least} and max_hops {reach.hops}", "Raise max_hops")
    end = _end(arguments, schema, start, reach)
    text = CypherText(schema, dialect)
    hops = match_reach(text, start, reach, end)
    write_least_hops(text, reach, hops)
    if least > 1:
        text.where([f"h0 >= {text.parameter(least)}"])
    columns = return_nodes(text, end, (_HOPS,), ("h0",))
    if reach.hops > 1:
        text.add(f"ORDER BY h0, {text.node_id('n1', end.types)}")
    text.add(f"LIMIT {text.parameter(most + 1)}")
    title = f"{end.shown} from {start.shown} by {reach.shown}"
    return TableQuery(
        compiled=text.compiled(), columns=columns, title=title, most=most, start=start, reach=reach, end=end
    )


def return_nodes(
    text: CypherText, end: End, columns: Sequence[ResultColumn] = (), values: Sequence[str] = ()
) -> tuple[ResultColumn, ...]:
    """Write RETURN of ``n1``: its id and properties where it is of one type, else the node itself.

    :param columns: after them, with their values.
    :returns: the columns of the table.
    """
    if end.type is None:
        node = ResultColumn(name="node", type="node")
        text.returns((node, *columns), ("n1", *values))
        return (*_MIXED, *columns)
    keys = end.type.properties
    column = node_column(end.type.name, [key.name for key in keys])
    of_node = (column, *(ResultColumn(name=key.name, type=column_type(key)) for key in keys))
    named = [text.node_id("n1", (end.type,)), *(text.property("n1", key.name) for key in keys)]
    text.returns((*of_node, *columns), (*named, *values))
    return (*of_node, *columns)


def _reader(context: OperatorContext, query: TableQuery) -> ReadRow:
    """Return what makes rows of a table of the rows of :func:`return_nodes`."""
    if query.columns[0].node_type:
        return all_cells
    reader = NodeReader(context.schema, context.catalog)

    def read(row: Row) -> tuple[Cell, ...]:
        node = reader.node(row[0])
        return (node.id, node.type, reader.name(node), *all_cells(row[1:]))

    return read


def _end(arguments: Mapping[str, Any], schema: GraphSchema, start: Selection, reach: Reach) -> End:
    names = [arguments["node_type"]] if arguments.get("node_type") else []
    end = parse_end(schema, start, reach, names, arguments.get("filters") or ())
    if arguments.get("min_hops") != 0 or names:
        return end
    types = tuple(each for each in schema.nodes if each in end.types or each in start.types)
    return replace(end, types=types, type=types[0] if len(types) == 1 else None)


def _starts_query(text: CypherText, start: Selection, end: End, most: int) -> bool:
    """Write the query of the starts themselves; False: none of them is of the type that is asked for."""
    if not {each.mark.label for each in start.types} & {each.mark.label for each in end.types}:
        return False
    match_selection(text, "n1", start)
    text.add("WITH n1, 0 AS h0")
    of_type = text.one_of_types("n1", end.types) if end.is_narrowed else []
    text.where([*of_type, *end_conditions(text, end)])
    return_nodes(text, end, (_HOPS,), ("h0",))
    text.add(f"LIMIT {text.parameter(most + 1)}")
    return True


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    query = await compiled_for(compile_query, arguments, context)
    read = _reader(context, query)
    if arguments.get("min_hops") != 0 or query.end is None:
        given = None if query.columns[0].node_type else read
        return await keep_query(context, query, read=given, explain=explain_empty(context, query))
    found: dict[Cell, tuple[Cell, ...]] = {}
    text = CypherText(context.schema, context.dialect)
    compiled = [text.compiled()] if _starts_query(text, query.start, query.end, query.most) else []
    for each in (*compiled, query.compiled):
        rows, _ = await fetch_rows(context, each, most=query.most + 1)
        for row in rows:
            cells = read(row)
            found.setdefault(cells[0], cells)
    table = table_of(query.columns, list(found.values()))
    return await context.results.keep_table(table, title=query.title, most=query.most)


def _forms(forms: ArgumentForms) -> dict[str, dict[str, Any]]:
    reach = forms.reach(filters=True)
    return {
        "start": forms.selection(),
        **reach,
        "min_hops": {"type": "integer", "minimum": 0, "maximum": 6},
        "node_type": forms.node_type,
        "filters": forms.filters(),
        "limit": forms.limit(),
    }


OPERATOR: Operator = TypedOperator(
    name="traverse",
    description=(
        "Go from nodes along relationships, one hop or up to six, and list the nodes that are reached, each once, with its least number "
        "of hops. Give node_type to keep one type, filters on what is reached, relationship_filters on the way."
    ),
    forms=_forms,
    required=("start",),
    runs=_run,
)
