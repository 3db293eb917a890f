"""Whether a number or a name stands in a result: answers are held against this, so it reads the rows, not the summaries."""

from __future__ import annotations

import re
import sqlite3

from planners.graphseek.results.result import Result
from planners.graphseek.results.shown_cell import CUT
from planners.graphseek.results.store_file import folded

__all__ = ["graph_has", "table_has"]

_NUMBER_START = "[-+.0-9]*"  # GLOB: texts that a number begins, such as dates; CAST reads no number in others
_ROUNDING = 1e-6  # of the tolerance: 99.425 is shown as 99.42 or 99.43, and lies a little off the middle of both
_NOT_ASCII = "*[^ -~]*"  # GLOB; NOCASE does for the others


def table_has(connection: sqlite3.Connection, table: Result, value: str | float, tolerance: float) -> bool:
    """Return whether a cell of a table is this value."""
    tests = [_test(f"c{at}", each.type, value) for at, each in enumerate(table.columns) if each.type != "boolean"]
    wanted = " OR ".join(test for test in tests if test)
    if not wanted:
        return False
    query = f'SELECT 1 FROM "{table.handle}" WHERE {wanted} LIMIT 1'
    return connection.execute(query, _parameters(value, tolerance)).fetchone() is not None


def graph_has(connection: sqlite3.Connection, handle: str, value: str | float, tolerance: float) -> bool:
    """Return whether a property, a type or an id of a graph is this value."""
    query = (
        "SELECT 1 FROM bodies, json_tree(bodies.body) AS leaf WHERE bodies.handle = :handle AND "
        f"leaf.type IN ('text', 'integer', 'real') AND ({_test('leaf.atom', '', value)}) LIMIT 1"
    )
    parameters = {**_parameters(value, tolerance), "handle": handle}
    return connection.execute(query, parameters).fetchone() is not None


def _test(cell: str, kind: str, value: str | float) -> str:
    """Return the condition on one cell; empty where the column's type rules the value out."""
    if isinstance(value, str):
        if kind in ("integer", "number"):
            return ""
        beginning = value.endswith(CUT)
        if value.removesuffix(CUT).isascii():
            return f"{cell} LIKE :begin ESCAPE '\\'" if beginning else f"{cell} = :value COLLATE NOCASE"
        compared = f"folded(substr({cell}, 1, :length))" if beginning else f"folded({cell})"
        return f"{cell} GLOB '{_NOT_ASCII}' AND {compared} = :value"
    if kind in ("integer", "number"):
        return f"{cell} BETWEEN :least AND :greatest"
    number = f"(typeof({cell}) <> 'text' OR {cell} GLOB '{_NUMBER_START}')"
    return f"CAST({cell} AS REAL) BETWEEN :least AND :greatest AND {number}"


def _parameters(value: str | float, tolerance: float) -> dict[str, str | float]:
    if isinstance(value, str):
        name = value.removesuffix(CUT).encode(errors="replace").decode()
        pattern = re.sub(r"([\\%_])", r"\\\1", name) + "%"
        return {"value": str(folded(name)), "length": len(name), "begin": pattern}
    slack = tolerance * (1 + _ROUNDING)
    return {"least": value - slack, "greatest": value + slack}
