"""Running compiled queries: rows become tables as they come, and the engine's errors faults."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, TypeAlias, cast

from ontology.errors import StatementError
from planners.graphseek.catalog import SemanticCatalog
from planners.graphseek.operators.cypher_text import Compiled, CypherText
from planners.graphseek.operators.operator import Arguments, OperatorContext, OperatorFault, nearest_hint
from planners.graphseek.operators.pattern import (
    Aggregation,
    Filter,
    NodeReader,
    Nodes,
    Reach,
    aggregation_text,
    match_nodes,
    resolve_nodes,
    steps_of,
    without_nulls,
)
from planners.graphseek.results import Cell, ColumnType, Result, ResultColumn, ResultEdge, ResultNode, TableRows
from planners.stores.graph_schema import RelationshipType
from planners.stores.property_graph import QueryLimits

Row: TypeAlias = tuple[Any, ...]
DEFAULT_ROWS = 10_000
"""Of a table, where the plan asks for no number."""
MOST_NODES = 2_000
"""Of a graph: four times the largest of the paper (522), and what a page draws."""
MOST_EDGES = 5_000
NEAR = 0.6
"""Nearness from which a name is shown: the cutoff of :func:`difflib.get_close_matches`."""
_CONTAINED = 0.8
"""Least nearness of a name that contains the text: above those with a typing error in every third letter."""
_COMPARED = 200  # characters of a text


@dataclass(frozen=True, slots=True)
class TableQuery:
    """A query whose rows are those of a table.

    :param start: what it starts from.
    :param most: rows that are kept.
    :param filters: on what it reaches and on the way, beside those of the start.
    :param reach: the relationships that it follows.
    :param notes: on its table.
    """

    compiled: Compiled
    columns: Sequence[ResultColumn]
    title: str
    most: int
    start: Nodes
    filters: tuple[Filter, ...] = ()
    reach: Reach = field(default_factory=Reach)
    notes: tuple[str, ...] = ()


Compile: TypeAlias = Callable[[Arguments, CypherText, SemanticCatalog], TableQuery]


def text_for(context: OperatorContext) -> CypherText:
    """Return a query to be written."""
    return CypherText(context.schema, context.graph.dialect)


async def compiled_for(compile_query: Compile, arguments: Arguments, context: OperatorContext) -> TableQuery:
    """Return the query of an invocation; selections of results are read from the store first."""
    named = {name: await resolve_nodes(arguments[name], context) for name in ("start", "end") if name in arguments}
    return compile_query({**arguments, **named}, text_for(context), context.catalog)


async def run_compiled(compile_query: Compile, arguments: Arguments, context: OperatorContext) -> Result:
    """Run an operator whose query gives its table."""
    return await keep_query(context, await compiled_for(compile_query, arguments, context))


async def fetch_rows(context: OperatorContext, compiled: Compiled, *, most: int) -> tuple[list[Row], bool]:
    """Return the rows of a query, and whether there were more."""
    context.ran(compiled)
    limits = QueryLimits(rows=most, seconds=context.seconds)
    with _faults():
        async with context.graph.read(compiled.text, compiled.parameters, limits) as stream:
            rows = [tuple(row) async for batch in stream.batches() for row in batch]
            return rows[:most], stream.cut or len(rows) > most


async def keep_query(
    context: OperatorContext, query: TableQuery, *, read: Callable[[Row], tuple[Cell, ...]] | None = None
) -> Result:
    """Run a query, and keep its rows as a table.

    :param read: makes a row of the table of one of the query; None: the values are the cells.
    """
    compiled, most = query.compiled, query.most
    limits = QueryLimits(rows=most + 1, seconds=context.seconds)
    context.ran(compiled)
    with _faults():
        async with context.graph.read(compiled.text, compiled.parameters, limits) as stream:
            batches = (batch if read is None else list(map(read, batch)) async for batch in stream.batches())
            table = TableRows(columns=tuple(query.columns), batches=cast(Any, _not_empty(query, batches)))
            return await context.results.keep_table(table, title=query.title, most=most, notes=query.notes)


async def _not_empty(query: TableQuery, batches: AsyncIterator[Any]) -> AsyncIterator[Any]:
    found = False
    async for batch in batches:
        found = found or bool(batch)
        yield batch
    if not found:
        explain_empty(query)


async def keep_rows(
    context: OperatorContext, query: TableQuery, rows: Sequence[tuple[Cell, ...]], notes: Sequence[str] = ()
) -> Result:
    """Keep rows that are there as the table of a query."""
    if not rows:
        explain_empty(query)
    table = table_of(query.columns, rows)
    return await context.results.keep_table(table, title=query.title, most=query.most, notes=[*query.notes, *notes])


def explain_empty(query: TableQuery) -> None:
    """Raise a fault where a number that was asked for may be rounded; otherwise that there is nothing is the answer."""
    for each in (*query.start.filters, *query.filters):
        value = each.values[0] if each.values else None
        if each.operator == "=" and isinstance(value, float) and not value.is_integer():
            name = each.key.name
            hint = f"It may be rounded: order by {name} with a limit, or filter {name} with >= and <= around it"
            raise OperatorFault("empty", f"nothing has {name} equal to {value!r}", hint)


def table_of(columns: Sequence[ResultColumn], rows: Sequence[tuple[Cell, ...]]) -> TableRows:
    """Return a table of rows that are there."""

    async def batches() -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
        yield rows

    return TableRows(columns=tuple(columns), batches=batches())


@contextlib.contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except StatementError as error:
        if "longer than" in error.problem:
            hint = "Ask for less: add filters or types, fewer hops, or start from fewer nodes"
            raise OperatorFault("timeout", error.problem, hint) from error
        raise OperatorFault("engine", error.problem, "Use other arguments, or another operator") from error


def as_cell(value: object) -> Cell:
    """Return a value as a cell of a table: a list stands as text."""
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)


def typed_table(names: Sequence[str], rows: Sequence[Row]) -> tuple[list[ResultColumn], list[tuple[Cell, ...]]]:
    """Return columns and rows of values whose types are known only when they are there."""
    columns = [column_of(name, [row[at] for row in rows]) for at, name in enumerate(names)]
    return columns, [tuple(cell_of(value, of) for value, of in zip(row, columns, strict=True)) for row in rows]


def column_of(name: str, values: Sequence[Any]) -> ResultColumn:
    """Return a column with the one type that all its values have; texts of JSON otherwise."""
    labels = {str(each["label"]) for each in values if _is_node(each)}
    if labels and all(each is None or _is_node(each) for each in values):
        return ResultColumn(name=name, type="node", node_type=labels.pop() if len(labels) == 1 else "")
    types: dict[type, ColumnType] = {bool: "boolean", int: "integer", float: "number"}
    kinds = {types.get(type(each), "string") for each in values if each is not None}
    if kinds == {"integer", "number"}:
        return ResultColumn(name=name, type="number")
    return ResultColumn(name=name, type=kinds.pop() if len(kinds) == 1 else "string")


def cell_of(value: Any, column: ResultColumn) -> Cell:
    """Return a value as a cell of a column that :func:`column_of` made of it."""
    if value is None:
        return None
    if column.type == "node":
        return str(value["id"])
    if column.type != "string":
        return cast(Cell, value if column.type != "number" else float(value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _is_node(value: Any) -> bool:
    return isinstance(value, Mapping) and "id" in value and "label" in value


def write_groups(
    text: CypherText,
    groups: Sequence[tuple[ResultColumn, str]],
    aggregations: Sequence[Aggregation],
    variable: str,
    arguments: Arguments,
    *,
    title: str,
    start: Nodes,
    carried: str = "",
) -> TableQuery:
    """Write groups with aggregations, in the order that arguments ask for, and where they ask for none, in that of the groups.

    :param groups: columns that groups have in common, and their expressions.
    :param variable: what is aggregated.
    :param arguments: ``order_by``, ``descending`` and ``limit``.
    :param start: what is grouped, or what it is reached from.
    :param carried: the variable of a node that groups belong to, one each; its id is the first column, and breaks ties.
    """
    sums = [f"a{at}" for at in range(len(aggregations))]
    keys = [value for _, value in groups] if carried else [f"g{at}" for at in range(len(groups))]
    named = [carried] if carried else [f"{value} AS {key}" for (_, value), key in zip(groups, keys, strict=True)]
    named += [f"{aggregation_text(text, variable, each)} AS {at}" for each, at in zip(aggregations, sums, strict=True)]
    text.add(f"WITH {', '.join(named)}")
    columns = (*(column for column, _ in groups), *(each.column for each in aggregations))
    values = [*keys, *sums]
    names = text.returns(columns, values)
    order = names[:1] if carried else [f"{key} IS NULL, {key}" for key in keys]
    if name := str(arguments.get("order_by") or ""):
        known = [each.name for each in columns]
        if name not in known:
            hint = nearest_hint(name, known)
            raise OperatorFault("unknown name", f"there is no column {name[:60]} to order by", hint)
        value = values[known.index(name)]
        order = [f"{value} IS NULL, {value}{' DESC' if arguments.get('descending') else ''}", *order]
    if order:
        text.add(f"ORDER BY {', '.join(order)}")
    most = arguments.get("limit", DEFAULT_ROWS)
    text.limit(most)
    return TableQuery(text.compiled(), columns, title, most, start)


async def nodes_of(context: OperatorContext, nodes: Nodes, *, most: int) -> tuple[list[ResultNode], bool]:
    """Return the nodes of a selection, and whether there are more."""
    parts = [nodes]
    if nodes.ids is not None:
        of_types = text_for(context).parts_of_ids(nodes.ids)
        parts = [replace(nodes, types=nodes.types if nodes.type else types, ids=ids) for types, ids in of_types]
    found: dict[str, ResultNode] = {}
    reader, cut = NodeReader(context.schema, context.catalog), False
    for part in parts:
        text = text_for(context)
        match_nodes(text, "n0", part)
        text.returns([ResultColumn(name="node", type="node")], ["n0"])
        text.limit(most)
        rows, more = await fetch_rows(context, text.compiled(), most=most)
        found |= {node.id: node for node in (reader.node(row[0]) for row in rows)}
        cut = cut or more
    return list(found.values())[:most], cut or len(found) > most


async def edges_among(
    context: OperatorContext, ids: Sequence[str], types: Sequence[RelationshipType] = ()
) -> tuple[list[ResultEdge], bool]:
    """Return the relationships among nodes, of these types or of all, and whether there are more."""
    schema, text = context.schema, text_for(context)
    if not (schema.relationships and ids):
        return [], False
    columns = [ResultColumn(name=name, type="string") for name in ("source", "type", "target", "properties")]
    for nth, (of_types, sources) in enumerate(text.parts_of_ids(ids)):
        if nth:
            text.add("UNION ALL")
        begin = text.choose("n0", None, sources)
        steps = steps_of(text, "(n0)", "(n1)", Reach(types=tuple(types)))
        text.add(f"{begin} {steps.between(f'e0{steps.types}')}")
        text.where([text.one_of_ids("n1", schema.nodes, ids)])
        text.add(f"WITH n0, n1, e0 WHERE {text.form('identity', 'n1')} IS NOT NULL")
        source, target = text.node_id("n0", of_types), text.node_id("n1", schema.nodes)
        text.returns(columns, (source, text.form("relationship_type", "e0"), target, "properties(e0)"))
        text.limit(MOST_EDGES)
    rows, cut = await fetch_rows(context, text.compiled(), most=MOST_EDGES)
    return [edge_of(*row) for row in rows], cut


def edge_of(source: Any, type_: Any, target: Any, properties: Any) -> ResultEdge:
    """Return a relationship of a result."""
    known = without_nulls(properties or {})
    return ResultEdge(type=str(type_), source=str(source), target=str(target), properties=known)


def near_names(text: CypherText, value: str, wanted: str) -> tuple[str, str]:
    """Return the condition of names that may be near, and what orders them so that the nearest stand among the first.

    A text with n errors, cut into n + 1 pieces, has a piece without an error: engines without fuzzy search look for the pieces.

    :param value: expression of the name.
    """
    short = wanted.strip()[:_COMPARED]
    size = max(-(-len(short) // (1 if len(short) < 4 else 2 if len(short) < 8 else 3)), 1)
    pieces = [short[at : at + size] for at in range(0, len(short), size)]
    tests = [f"lower({value}) CONTAINS lower({text.parameter(piece)})" for piece in pieces]
    scores = [
        f"CASE WHEN {test} THEN {text.parameter(2 * len(piece))} ELSE 0 END"
        for test, piece in zip(tests, pieces, strict=True)
    ]
    return f"({' OR '.join(tests)})", f"{' + '.join(scores)} - abs(size({value}) - {text.parameter(len(wanted))})"


def nearness(text: str, name: str) -> float:
    """Return how near a name is, from 0 to 1; 1: equal but for case."""
    one, other = text.strip().casefold()[:_COMPARED], name.casefold()[:_COMPARED]
    if one == other:
        return 1.0
    if one and one in other:
        return round(_CONTAINED + (1 - _CONTAINED) * len(one) / (len(other) + 1), 3)
    return round(SequenceMatcher(None, one, other, autojunk=False).ratio(), 3)
