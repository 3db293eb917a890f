"""Running compiled queries: their rows become tables as they come, and what the engine says becomes a fault."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ontology.errors import StatementError
from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import Compiled, Dialect
from planners.graphseek.operators.neighbour_reach import End, Reach
from planners.graphseek.operators.node_selection import Selection, resolve_selection
from planners.graphseek.operators.operator import OperatorContext, OperatorFault
from planners.graphseek.results.result import Cell, Result, ResultColumn, TableRows
from planners.stores.graph_schema import GraphSchema
from planners.stores.property_graph import QueryLimits

__all__ = [
    "DEFAULT_ROWS",
    "Explain",
    "ReadRow",
    "Row",
    "TableQuery",
    "all_cells",
    "as_cell",
    "compiled_for",
    "fetch_rows",
    "keep_query",
    "table_of",
]

DEFAULT_ROWS = 10_000
"""Of a table, where the plan asks for no number."""
_CELLS = frozenset({type(None), str, int, float, bool})
Row: TypeAlias = tuple[object, ...]
ReadRow: TypeAlias = Callable[[Row], tuple[Cell, ...]]
"""Makes a row of a table of one of a query."""
Explain: TypeAlias = Callable[[], Awaitable[None]]
"""Is asked when there are no rows; raises a fault that says why, where it knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """A query whose rows are those of a table.

    :param start: what it starts from; ``reach`` and ``end`` say what it follows and which of the nodes there are meant, where that can
        explain why there are no rows.
    :param most: rows that are kept.
    :param notes: on its table.
    """

    compiled: Compiled
    columns: tuple[ResultColumn, ...]
    title: str
    start: Selection
    most: int = DEFAULT_ROWS
    reach: Reach | None = None
    end: End | None = None
    notes: tuple[str, ...] = ()


CompileQuery: TypeAlias = Callable[[Mapping[str, Any], GraphSchema, SemanticCatalog, Dialect], TableQuery]


async def compiled_for(
    compile_query: CompileQuery, arguments: Mapping[str, Any], context: OperatorContext
) -> TableQuery:
    """Return the query of an invocation; selections of results are read from the store first.

    :raises OperatorFault: when a selection names no nodes, or the arguments do not fit the schema.
    """
    named = [name for name in ("start", "end") if name in arguments]
    resolved = {name: await resolve_selection(arguments[name], context) for name in named}
    return compile_query({**arguments, **resolved}, context.schema, context.catalog, context.dialect)


async def fetch_rows(context: OperatorContext, compiled: Compiled, *, most: int) -> tuple[list[Row], bool]:
    """Return the rows of a query, and whether there were more.

    :raises OperatorFault: when the engine refuses it, or takes too long.
    """
    context.ran(compiled)
    with _faults():
        async with context.graph.read(
            compiled.text, compiled.parameters, QueryLimits(rows=most, seconds=context.seconds)
        ) as stream:
            rows = [tuple(row) async for batch in stream.batches() for row in batch]
            return rows[:most], stream.cut or len(rows) > most


async def keep_query(
    context: OperatorContext,
    query: TableQuery,
    *,
    read: ReadRow | None = None,
    explain: Explain | None = None,
) -> Result:
    """Run a query, and keep its rows as a table.

    :param read: None: the values are the cells.
    :param explain: see :data:`Explain`.
    :raises OperatorFault: when the engine refuses it, or takes too long, or ``explain`` knows why it is empty.
    """
    compiled, most = query.compiled, query.most
    limits = QueryLimits(rows=most + 1, seconds=context.seconds)
    context.ran(compiled)
    with _faults():
        async with context.graph.read(compiled.text, compiled.parameters, limits) as stream:
            batches = _cells(stream.batches(), read)
            first = await anext(batches, None)
            if first is not None:
                table = TableRows(columns=query.columns, batches=_with_first(first, batches))
                return await context.results.keep_table(table, title=query.title, most=most, notes=query.notes)
    if explain is not None:
        await explain()
    return await context.results.keep_table(
        table_of(query.columns, ()), title=query.title, most=most, notes=query.notes
    )


def table_of(columns: Sequence[ResultColumn], rows: Sequence[tuple[Cell, ...]]) -> TableRows:
    """Return a table of rows that are there."""

    async def batches() -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
        if rows:
            yield rows

    return TableRows(columns=tuple(columns), batches=batches())


def as_cell(value: object) -> Cell:
    """Return a value as a cell of a table: a list stands as text."""
    if value is None or isinstance(value, str | int | float):
        return value
    return json.dumps(value, ensure_ascii=False)


def all_cells(row: Row) -> tuple[Cell, ...]:
    """Return the values of a row as cells."""
    return row if _CELLS.issuperset(map(type, row)) else tuple(map(as_cell, row))  # type: ignore[return-value]


async def _cells(
    batches: AsyncIterator[Sequence[Row]], read: ReadRow | None
) -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
    """Yield batches of rows of the table; none is empty. What is no cell, such as a list, the table makes one as it is written."""
    async for batch in batches:
        if batch:
            yield cast(Sequence[tuple[Cell, ...]], batch) if read is None else [read(row) for row in batch]


async def _with_first(
    first: Sequence[tuple[Cell, ...]], rest: AsyncIterator[Sequence[tuple[Cell, ...]]]
) -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
    yield first
    async for batch in rest:
        yield batch


@contextlib.contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except StatementError as error:
        if "longer than" in error.problem:
            hint = "Ask for less: add filters or types, fewer hops, or start from fewer nodes"
            raise OperatorFault("timeout", error.problem, hint) from error
        raise OperatorFault("engine", error.problem, "Use other arguments, or another operator") from error
