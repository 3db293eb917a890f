"""Arguments that name results and their columns: their JSON schemas, and the faults of those that name none."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Literal

from ontology.errors import NotFoundError
from planners.graphseek.operators.operator import OperatorContext, OperatorFault
from planners.graphseek.results.result import Result, ResultColumn

__all__ = [
    "COLUMN",
    "COLUMNS",
    "MOST_ROWS",
    "TITLE",
    "column_place",
    "column_places",
    "column_sql",
    "is_numeric",
    "nearest_hint",
    "object_schema",
    "stored",
    "type_family",
]

MOST_ROWS = 1_000_000
"""Of a table: four times the nodes of the paper's graph; a join of all with all ends here."""
_LISTED = 40  # names in a hint
_COMPARED = 100  # characters of a name
COLUMN: dict[str, Any] = {"type": "string", "description": "name of a column"}
COLUMNS: dict[str, Any] = {"type": "array", "items": COLUMN, "minItems": 1, "description": "names of columns"}
TITLE: dict[str, Any] = {"type": "string", "description": "a title for people"}


def object_schema(required: Sequence[str], **properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of arguments."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def stored(context: OperatorContext, handle: str, *kinds: Literal["table", "graph"]) -> Result:
    """Return a result of one of these kinds.

    :raises OperatorFault: when there is none under this handle.
    """
    try:
        result = context.results.result(handle)
    except NotFoundError as error:
        raise OperatorFault("no such handle", f"There is no result {handle}", f"{error.remedy}") from error
    if result.kind not in kinds:
        others = [each for each in context.results.handles if context.results.result(each).kind in kinds]
        hint = "Take to_table first" if result.kind == "graph" else f"Take one of {', '.join(others) or 'none so far'}"
        raise OperatorFault("arguments", f"{handle} is a {result.kind}, not a {' or '.join(kinds)}", hint)
    return result


def column_place(table: Result, name: str) -> int:
    """Return where a column of a table is.

    :raises OperatorFault: when it has none of this name.
    """
    names = [each.name for each in table.columns]
    if name in names:
        return names.index(name)
    raise OperatorFault("unknown name", f"{table.handle} has no column {name}", nearest_hint(name, names))


def column_places(table: Result, names: Sequence[str] | None) -> list[int]:
    """Return where columns are; all where none are named."""
    return [column_place(table, each) for each in names] if names else list(range(len(table.columns)))


def column_sql(at: int) -> str:
    """Return the name of a column in SQLite."""
    return f"c{at}"


def is_numeric(column: ResultColumn) -> bool:
    """Whether one can calculate with it."""
    return column.type in ("integer", "number")


def type_family(column: ResultColumn) -> str:
    """Return what it can be compared with: integers and numbers are one."""
    return "number" if is_numeric(column) else column.type


def nearest_hint(name: str, known: Sequence[str]) -> str:
    """Return a hint that names the nearest of the known names, and lists them."""
    lower = {each.casefold(): each for each in reversed(known)}
    close = get_close_matches(name[:_COMPARED].casefold(), lower, n=1, cutoff=0.5)
    listed = ", ".join(known[:_LISTED]) + (" …" if len(known) > _LISTED else "")
    return f"{f'The nearest is {lower[close[0]]}. ' if close else ''}Known: {listed or 'none'}"
