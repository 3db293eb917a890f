"""``read``: some rows of a result, whole; the only way in which rows beyond a summary come before a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from planners.graphseek.operators.graph_to_table import node_rows
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.operators.table_arguments import COLUMNS, column_places, stored
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Cell, Result
from planners.graphseek.results.shown_cell import shown_text
from planners.graphseek.results.table_summary import fits, shown_row

__all__ = ["OPERATOR"]

_MOST = 50  # rows; more than some 30 of the narrowest do not fit in a summary
_FEW = 20
_CELLS = (400, 120, 40, 12)  # characters of a cell, the first that lets one row fit
_NAME = 60  # characters of a column's name


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    """Return the result itself; what was read stands in place of its summary."""
    found = stored(context, arguments["handle"], "table", "graph")
    offset, limit = arguments.get("offset", 0), arguments.get("limit", _FEW)
    if offset >= found.size:
        hint = "Offsets count from 0" if found.size else "Ask for something else"
        raise OperatorFault("empty", f"{found.handle} has {found.size} rows, and none from {offset} on", hint)
    if found.kind == "graph":
        columns, all_rows = node_rows(await context.results.graph(found.handle))
        table, rows = replace(found, columns=tuple(columns)), all_rows[offset : offset + limit]
    else:
        table, rows = found, await context.results.rows(found.handle, offset=offset, limit=limit)
    places = column_places(table, arguments.get("columns"))
    if not arguments.get("columns"):
        places = [at for at in places if table.columns[at].type != "node"] or places
    return replace(found, summary=_fitting(table, rows, offset, places))


def _fitting(table: Result, rows: Sequence[tuple[Cell, ...]], offset: int, places: list[int]) -> str:
    """Return as many rows as fit: cells are cut only where no whole row fits, and then columns are left out."""
    while True:
        for cell in _CELLS:
            lines = [shown_row(row, places, cell) for row in rows]
            for count in range(len(rows), 0, -1):
                text = _text(table, lines[:count], offset, places)
                if fits(text):
                    return text
        if len(places) == 1:
            return f"{table.handle}: no row fits."
        places = places[: len(places) // 2]


def _text(table: Result, rows: Sequence[str], offset: int, places: Sequence[int]) -> str:
    names = " | ".join(shown_text(table.columns[at].name, _NAME) for at in places)
    end = offset + len(rows)
    lines = [f"{table.handle}: rows {offset + 1} to {end} of {table.size} ({names}):", *rows]
    if end < table.size:
        lines.append(f"the next row has offset {end}")
    return "\n".join(lines)


OPERATOR: Operator = TypedOperator(
    name="read",
    group="retrieval",
    description=(
        "Read rows of a result that is there: at most 50 from an offset (0 is the first), some columns or all. Take it when a summary "
        "shows too few rows or cuts a text. Of a graph it reads the nodes."
    ),
    forms=lambda forms: {
        "handle": forms.handle("tg"),
        "offset": {"type": "integer", "minimum": 0},
        "limit": forms.limit(_MOST),
        "columns": COLUMNS,
    },
    required=("handle",),
    runs=_run,
)
