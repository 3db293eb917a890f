"""Running compiled queries: rows become tables, and the engine's errors faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ontology.errors import StatementError
from planners.graphseek.operators.cypher_text import Compiled, CypherText
from planners.graphseek.operators.operator import Arguments, OperatorContext, OperatorFault, nearest_hint
from planners.graphseek.operators.pattern import Aggregation, Filter, Reach, aggregation_text, resolve_nodes, steps_of
from planners.graphseek.results import Cell, ColumnType, Result, ResultColumn
from planners.stores.graph_schema import RelationshipType
from planners.stores.property_graph import QueryLimits

Row: TypeAlias = tuple[Any, ...]
DEFAULT_ROWS = 10_000  # of a table, where the plan asks for no number
MOST_NODES = 2_000  # of a neighbourhood: four times the largest of the paper (522), and what a page draws
MOST_EDGES = 5_000


async def begin(arguments: Arguments, context: OperatorContext) -> tuple[dict[str, Any], CypherText]:
    """Return the arguments with their selections of results resolved, and a query to be written."""
    named = {name: await resolve_nodes(arguments[name], context) for name in ("start", "end") if name in arguments}
    return {**arguments, **named}, CypherText(context.schema, context.graph.dialect)


async def fetch_rows(context: OperatorContext, compiled: Compiled, *, most: int) -> tuple[list[Row], bool]:
    """Return the rows of a query, and whether there were more."""
    context.ran(compiled)
    limits = QueryLimits(rows=most + 1, seconds=context.seconds)
    try:
        found = await context.graph.read(compiled.text, compiled.parameters, limits)
    except StatementError as error:
        if "longer than" in error.problem:
            hint = "Ask for less: add filters or types, fewer hops, or start from fewer nodes"
            raise OperatorFault("timeout", error.problem, hint) from error
        raise OperatorFault("engine", error.problem, "Use other arguments, or another operator") from error
    return list(found.rows[:most]), found.cut or len(found.rows) > most


async def run_query(
    context: OperatorContext,
    text: CypherText,
    columns: Sequence[ResultColumn],
    *,
    title: str,
    most: int,
    filters: Sequence[Filter] = (),
    notes: Sequence[str] = (),
    read: Callable[[Row], tuple[Cell, ...]] | None = None,
) -> Result:
    """Run a query, and keep at most so many of its rows as a table. ``filters`` may be why there are none; without
    ``read``, which makes a row of the table of one of the query, the values are the cells."""
    rows, cut = await fetch_rows(context, text.compiled(), most=most)
    if not rows:
        explain_empty(filters)
    cells = rows if read is None else [read(row) for row in rows]
    return await context.results.keep_table(columns, cells, title=title, cut=cut, notes=notes)


def explain_empty(filters: Sequence[Filter]) -> None:
    """Raise a fault where a number that was asked for may be rounded; otherwise that there is nothing is the answer."""
    for each in filters:
        if each.may_be_rounded:
            name = each.key.name
            hint = f"It may be rounded: order by {name} with a limit, or filter {name} with >= and <= around it"
            raise OperatorFault("empty", f"nothing has {name} equal to {each.values[0]!r}", hint)


def cells_of(names: Sequence[str], rows: Sequence[Row]) -> tuple[list[ResultColumn], list[Row]]:
    """Return columns and rows of values whose types are known only when they are there; nodes as their ids."""
    columns = [_column(name, [row[at] for row in rows]) for at, name in enumerate(names)]
    return columns, [
        tuple(value["id"] if value and of.type == "node" else value for value, of in zip(row, columns, strict=True))
        for row in rows
    ]


def _column(name: str, values: Sequence[Any]) -> ResultColumn:
    """Return a column with the one type that all its values have; of texts otherwise."""
    present = [each for each in values if each is not None]
    labels = {str(each["label"]) for each in present if _is_node(each)}
    if labels and all(map(_is_node, present)):
        return ResultColumn(name=name, type="node", node_type=labels.pop() if len(labels) == 1 else "")
    types: dict[type, ColumnType] = {bool: "boolean", int: "integer", float: "number"}
    kinds = {types.get(type(each), "string") for each in present}
    if kinds == {"integer", "number"}:
        return ResultColumn(name=name, type="number")
    return ResultColumn(name=name, type=kinds.pop() if len(kinds) == 1 else "string")


def _is_node(value: Any) -> bool:
    return isinstance(value, Mapping) and "id" in value and "label" in value


def write_groups(
    text: CypherText,
    groups: Sequence[tuple[ResultColumn, str]],
    aggregations: Sequence[Aggregation],
    variable: str,
    arguments: Arguments,
    *,
    carried: str = "",
) -> tuple[ResultColumn, ...]:
    """Write groups of a variable with aggregations, in the order that arguments ask for, else in that of the groups.
    All groups have the columns ``groups``, with their expressions; the id of the node ``carried``, to which each
    belongs, is the first column, and breaks ties."""
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
    text.limit(arguments.get("limit", DEFAULT_ROWS))
    return columns


async def edges_among(
    context: OperatorContext, ids: Sequence[str], types: Sequence[RelationshipType] = ()
) -> tuple[list[Row], bool]:
    """Return the relationships among nodes, of these types or of all, as source, type and target, and whether there are more."""
    schema = context.schema
    columns = [ResultColumn(name=name, type="string") for name in ("source", "type", "target")]
    found, cut = list[Row](), False
    for _, sources in CypherText(schema, context.graph.dialect).parts_of_ids(ids):
        text = CypherText(schema, context.graph.dialect)
        begin = text.choose("n0", None, sources)
        steps = steps_of(text, "(n0)", "(n1)", Reach(types=tuple(types)))
        text.add(f"{begin} {steps.between(f'e0{steps.types}')}")
        text.where([text.one_of_ids("n1", schema.nodes, ids)])
        text.add(f"WITH n0, n1, e0 WHERE {text.form('identity', 'n1')} IS NOT NULL")
        text.returns(columns, ("n0", text.form("relationship_type", "e0"), "n1"))
        text.limit(MOST_EDGES)
        rows, more = await fetch_rows(context, text.compiled(), most=MOST_EDGES)
        found, cut = found + rows, cut or more
    return found[:MOST_EDGES], cut or len(found) > MOST_EDGES
