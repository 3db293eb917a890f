"""``cypher``: the last resort, a query in the words of the planner. It reads only, and passes the allow-list (section 6.2 of the paper)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from planners.graphs.cypher.cypher_allow_list import allowed_cypher
from planners.graphs.graph_schema import GraphSchema
from planners.graphs.property_graph import QueryLimits
from planners.graphseek.operators.operator import Compiled, Group, Operator, OperatorContext, OperatorFault
from planners.graphseek.results.result import Cell, ColumnType, Result, ResultColumn, TableRows

__all__ = ["OPERATOR"]

_ROWS = 10_000  # they are read into memory, because their types are not known before
_SECONDS = 20.0
_TITLE = "rows of the query"


class _Cypher:
    name = "cypher"
    group: Group = "agent"
    description = (
        "Runs one Cypher query that only reads, for what no other operator can ask. Types and properties are those of the schema. "
        "Return properties under names, not whole nodes: RETURN s.name AS site, count(*) AS processes."
    )

    def parameters(self, schema: GraphSchema, handles: Sequence[str]) -> dict[str, Any]:
        """See :class:`Operator`."""
        properties = {"text": {"type": "string", "minLength": 1}}
        return {"type": "object", "properties": properties, "required": ["text"], "additionalProperties": False}

    async def run(self, arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        """See :class:`Operator`. What the allow-list or the engine refuses is a StatementError, which is told like a fault."""
        text = allowed_cypher(arguments["text"], write=False).text
        context.ran(Compiled(text=text))
        limits = QueryLimits(rows=_ROWS, seconds=_SECONDS)
        async with context.graph.read(text, None, limits) as stream:
            rows = [row async for batch in stream.batches() for row in batch]
            names, cut = stream.columns, stream.cut
        if not rows:
            raise OperatorFault("empty", "the query gave no rows", "Check names, directions and values")
        columns = tuple(_column(name, [row[at] for row in rows]) for at, name in enumerate(names))
        cells = [tuple(_cell(value, column) for value, column in zip(row, columns, strict=True)) for row in rows]
        notes = (f"There are more than {_ROWS} rows.",) if cut else ()
        kept = TableRows(columns=columns, batches=_batch(cells))
        return await context.results.keep_table(kept, title=_TITLE, most=_ROWS, notes=notes)


def _column(name: str, values: Sequence[Any]) -> ResultColumn:
    """Return a column with the one type that all its values have; texts of JSON otherwise."""
    labels = {str(each["label"]) for each in values if _is_node(each)}
    if labels and all(each is None or _is_node(each) for each in values):
        return ResultColumn(name=name, type="node", node_type=labels.pop() if len(labels) == 1 else "")
    kinds = {_kind(each) for each in values if each is not None}
    if kinds == {"integer", "number"}:
        return ResultColumn(name=name, type="number")
    return ResultColumn(name=name, type=kinds.pop() if len(kinds) == 1 else "string")


def _kind(value: object) -> ColumnType:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "number" if isinstance(value, float) else "string"


def _is_node(value: Any) -> bool:
    return isinstance(value, Mapping) and "id" in value and "label" in value


def _cell(value: Any, column: ResultColumn) -> Cell:
    if value is None:
        return None
    if column.type == "node":
        return str(value["id"])
    if column.type != "string":
        return value if column.type != "number" else float(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


async def _batch(rows: Sequence[tuple[Cell, ...]]) -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
    yield rows


OPERATOR: Operator = _Cypher()
