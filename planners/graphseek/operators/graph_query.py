"""Running compiled queries: rows become tables as they come, the engine's errors faults, and an empty result says why it is empty."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, TypeAlias, cast

from ontology.errors import StatementError
from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import Compiled, CypherText
from planners.graphseek.operators.operator import Arguments, OperatorContext, OperatorFault, nearest_hint
from planners.graphseek.operators.pattern import (
    Aggregation,
    Filter,
    NodeReader,
    Nodes,
    Reach,
    aggregation_text,
    match_nodes,
    match_reach,
    parse_end,
    resolve_nodes,
    steps_of,
    without_nulls,
)
from planners.graphseek.results.result import Cell, ColumnType, Result, ResultColumn, ResultEdge, ResultNode, TableRows
from planners.stores.graph_schema import NodeType, RelationshipType
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
_CANDIDATES = 200  # names that are compared with what was looked for
_EXPLAINED = ("=", "contains", "starts_with", "ends_with")


@dataclass(frozen=True, slots=True)
class TableQuery:
    """A query whose rows are those of a table.

    :param start: what it starts from; ``reach`` and ``end`` say what it follows and which of the nodes there are meant, where that can
        explain why there are no rows.
    :param most: rows that are kept.
    :param notes: on its table.
    """

    compiled: Compiled
    columns: Sequence[ResultColumn]
    title: str
    most: int
    start: Nodes
    reach: Reach | None = None
    end: Nodes | None = None
    notes: tuple[str, ...] = ()


Compile: TypeAlias = Callable[[Arguments, CypherText, SemanticCatalog], TableQuery]


async def compiled_for(compile_query: Compile, arguments: Arguments, context: OperatorContext) -> TableQuery:
    """Return the query of an invocation; selections of results are read from the store first.

    :raises OperatorFault: when a selection names no nodes, or the arguments do not fit the schema.
    """
    named = {name: await resolve_nodes(arguments[name], context) for name in ("start", "end") if name in arguments}
    text = CypherText(context.schema, context.dialect)
    return compile_query({**arguments, **named}, text, context.catalog)


async def run_compiled(compile_query: Compile, arguments: Arguments, context: OperatorContext) -> Result:
    """Run an operator whose query gives its table."""
    return await keep_query(context, await compiled_for(compile_query, arguments, context))


async def fetch_rows(context: OperatorContext, compiled: Compiled, *, most: int) -> tuple[list[Row], bool]:
    """Return the rows of a query, and whether there were more.

    :raises OperatorFault: when the engine refuses it, or takes too long.
    """
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
    :raises OperatorFault: when the engine refuses it, or takes too long, or it is known why it is empty.
    """
    compiled, most = query.compiled, query.most
    limits = QueryLimits(rows=most + 1, seconds=context.seconds)
    context.ran(compiled)
    with _faults():
        async with context.graph.read(compiled.text, compiled.parameters, limits) as stream:
            batches = (batch if read is None else list(map(read, batch)) async for batch in stream.batches() if batch)
            first = await anext(batches, None)
            if first is not None:
                rows = _with_first(cast(Any, first), cast(Any, batches))
                table = TableRows(columns=tuple(query.columns), batches=rows)
                return await context.results.keep_table(table, title=query.title, most=most, notes=query.notes)
    await explain_empty(context, query)
    return await keep_rows(context, query, [])


async def _with_first(first: Sequence[Row], rest: AsyncIterator[Sequence[Row]]) -> AsyncIterator[Sequence[Row]]:
    yield first
    async for batch in rest:
        yield batch


async def keep_rows(
    context: OperatorContext, query: TableQuery, rows: Sequence[tuple[Cell, ...]], notes: Sequence[str] = ()
) -> Result:
    """Keep rows that are there as the table of a query."""
    table = table_of(query.columns, rows)
    return await context.results.keep_table(table, title=query.title, most=query.most, notes=[*query.notes, *notes])


def table_of(columns: Sequence[ResultColumn], rows: Sequence[tuple[Cell, ...]]) -> TableRows:
    """Return a table of rows that are there."""

    async def batches() -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
        if rows:
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
    :raises OperatorFault: when there is no such column to order by.
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
            raise OperatorFault(
                "unknown name", f"there is no column {name[:60]} to order by", nearest_hint(name, known)
            )
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
        of_types = context.dialect.parts_of_ids(context.schema, nodes.ids)
        parts = [replace(nodes, types=nodes.types if nodes.type else each.types, ids=each.ids) for each in of_types]
    found: dict[str, ResultNode] = {}
    reader, cut = NodeReader(context.schema, context.catalog), False
    for part in parts:
        text = CypherText(context.schema, context.dialect)
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
    schema, dialect = context.schema, context.dialect
    if not (schema.relationships and ids):
        return [], False
    text = CypherText(schema, dialect)
    columns = [ResultColumn(name=name, type="string") for name in ("source", "type", "target", "properties")]
    for nth, sources in enumerate(dialect.parts_of_ids(schema, ids)):
        if nth:
            text.add("UNION ALL")
        begin = dialect.choose(text, "n0", None, sources.ids)
        steps = steps_of(text, "(n0)", "(n1)", Reach(types=tuple(types)))
        text.add(f"{begin} {steps.between(f'e0{steps.types}')}")
        text.where([text.one_of_ids("n1", schema.nodes, ids)])
        text.add(f"WITH n0, n1, e0 WHERE {text.identity('n1')} IS NOT NULL")
        source, target = text.node_id("n0", sources.types), text.node_id("n1", schema.nodes)
        text.returns(columns, (source, dialect.relationship_type.format("e0"), target, "properties(e0)"))
        text.limit(MOST_EDGES)
    rows, cut = await fetch_rows(context, text.compiled(), most=MOST_EDGES)
    return [edge_of(*row) for row in rows], cut


def edge_of(source: Any, type_: Any, target: Any, properties: Any) -> ResultEdge:
    """Return a relationship of a result."""
    return ResultEdge(
        type=str(type_), source=str(source), target=str(target), properties=without_nulls(properties or {})
    )


def near_names(text: CypherText, value: str, wanted: str) -> tuple[str, str]:
    """Return the condition of names that may be near, and what orders them so that the nearest stand among the first.

    A text with n errors, cut into n + 1 pieces, has a piece without an error: engines without fuzzy search look for the pieces.

    :param value: expression of the name.
    """
    pieces = _pieces(wanted)
    tests = [f"lower({value}) CONTAINS lower({text.parameter(piece)})" for piece in pieces]
    scores = [
        f"CASE WHEN {test} THEN {text.parameter(2 * len(piece))} ELSE 0 END"
        for test, piece in zip(tests, pieces, strict=True)
    ]
    return f"({' OR '.join(tests)})", f"{' + '.join(scores)} - abs(size({value}) - {text.parameter(len(wanted))})"


def _pieces(text: str) -> list[str]:
    text = text.strip()[:_COMPARED]
    number = 1 if len(text) < 4 else 2 if len(text) < 8 else 3
    size = max(-(-len(text) // number), 1)
    return [text[at : at + size] for at in range(0, len(text), size)]


def nearness(text: str, name: str) -> float:
    """Return how near a name is, from 0 to 1; 1: equal but for case."""
    one, other = text.strip().casefold()[:_COMPARED], name.casefold()[:_COMPARED]
    if one == other:
        return 1.0
    if one and one in other:
        return round(_CONTAINED + (1 - _CONTAINED) * len(one) / (len(other) + 1), 3)
    return round(SequenceMatcher(None, one, other, autojunk=False).ratio(), 3)


async def explain_empty(context: OperatorContext, query: TableQuery) -> None:
    """Raise a fault with a hint where it is known why there is nothing; otherwise that there is nothing is the answer.

    It costs one query at most (part of the paper's self-correction, section 3.1).

    :raises OperatorFault: another spelling, the other direction, or a number that was rounded.
    """
    start, reach, end = query.start, query.reach, query.end
    for each in (*start.filters, *(end.filters if end else ()), *(reach.filters if reach else ())):
        value = each.values[0] if each.values else None
        if each.operator == "=" and isinstance(value, float) and not value.is_integer():
            name = each.key.name
            hint = f"It may be rounded: order by {name} with a limit, or filter {name} with >= and <= around it"
            raise OperatorFault("empty", f"nothing has {name} equal to {value!r}", hint)
    text = CypherText(context.schema, context.dialect)
    other = _write_reversed(text, start, reach, end)
    spelled = _spelled(start, end)
    if spelled:
        if other:
            text.add("UNION ALL")
        _write_near(text, *spelled)
    if not (other or spelled):
        return
    rows, _ = await fetch_rows(context, text.compiled(), most=_CANDIDATES + 1)
    number = next((int(value) for what, value in rows if what == "reversed"), 0)
    if other and number:
        hint = f"The other direction gives {number:,}: use direction {other.direction}"
        raise OperatorFault("empty", f"{reach.shown if reach else ''} gives nothing from {start.shown}", hint)
    if spelled:
        _check_spelling(spelled[1], [str(value) for what, value in rows if what == "near"])


def _write_reversed(text: CypherText, start: Nodes, reach: Reach | None, end: Nodes | None) -> Reach | None:
    """Write the count of what the other direction gives; None: there is none, or the schema says that it leads nowhere."""
    if reach is None or end is None or reach.direction == "both":
        return None
    other = reach.reversed
    try:
        there = parse_end(text.schema, start, other, [each.name for each in end.types] if end.is_narrowed else ())
    except OperatorFault:
        return None
    if not {each.key for each in end.filters} <= {key for type_ in there.types for key in type_.properties}:
        return None
    match_reach(text, start, other, replace(there, filters=end.filters))
    count = text.as_text(f"count(DISTINCT {text.identity('n1')})")
    text.add(f"RETURN {text.parameter('reversed')} AS `what`, {count} AS `value`")
    return other


def _spelled(start: Nodes, end: Nodes | None) -> tuple[NodeType, Filter] | None:
    """Return the first filter on a text, and the type that has it."""
    for nodes in (start, end):
        for each in nodes.filters if nodes and nodes.type else ():
            if each.key.type == "string" and each.operator in _EXPLAINED and str(each.values[0]).strip():
                return cast(Any, nodes).type, each
    return None


def _write_near(text: CypherText, type_: NodeType, each: Filter) -> None:
    value = text.property("n0", each.key.name)
    condition, rank = near_names(text, value, str(each.values[0]))
    text.add(f"MATCH {text.node('n0', (type_,))}")
    text.where([*text.of_type("n0", type_), condition])
    text.add(f"WITH DISTINCT {value} AS g0, {rank} AS h0 ORDER BY h0 DESC, g0 LIMIT {text.parameter(_CANDIDATES)}")
    text.add(f"RETURN {text.parameter('near')} AS `what`, g0 AS `value`")


def _check_spelling(each: Filter, names: Sequence[str]) -> None:
    wanted = str(each.values[0])
    near = sorted((-nearness(wanted, name), name) for name in names)
    shown = [f"{name!r}" for score, name in near[:3] if -score >= NEAR]
    if shown and wanted not in names:
        raise OperatorFault("empty", f"no {each.key.name} {each.operator} {wanted!r}", f"There is {', '.join(shown)}")
