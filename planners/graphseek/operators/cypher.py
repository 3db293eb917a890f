"""``cypher``: the last resort, a query in the words of the planner. It reads only, and passes the allow-list (section 6.2 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.graphseek.dialects.cypher_text import Compiled
from planners.graphseek.operators.graph_query import table_of
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.row_types import cell_of, column_of
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Result
from planners.stores.property_graph import QueryLimits
from planners.stores.statements import allowed_cypher

__all__ = ["OPERATOR"]

_ROWS = 10_000  # they are read into memory, because their types are not known before
_TITLE = "rows of the query"


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    """What the allow-list or the engine refuses is a StatementError, which is told like a fault."""
    text = allowed_cypher(arguments["text"], write=False).text
    context.ran(Compiled(text=text))
    limits = QueryLimits(rows=_ROWS, seconds=context.seconds)
    async with context.graph.read(text, None, limits) as stream:
        rows = [row async for batch in stream.batches() for row in batch]
        names, cut = stream.columns, stream.cut
    if not rows:
        raise OperatorFault("empty", "the query gave no rows", "Check names, directions and values")
    columns = tuple(column_of(name, [row[at] for row in rows]) for at, name in enumerate(names))
    cells = [tuple(cell_of(value, column) for value, column in zip(row, columns, strict=True)) for row in rows]
    notes = (f"There are more than {_ROWS} rows.",) if cut else ()
    return await context.results.keep_table(table_of(columns, cells), title=_TITLE, most=_ROWS, notes=notes)


OPERATOR: Operator = TypedOperator(
    name="cypher",
    group="agent",
    description=(
        "Runs one Cypher query that only reads, for what no other operator can ask. Types and properties are those of the schema. "
        "Return properties under names, not whole nodes: RETURN s.name AS site, count(*) AS processes."
    ),
    forms=lambda forms: {"text": {"type": "string", "minLength": 1}},
    required=("text",),
    runs=_run,
)
