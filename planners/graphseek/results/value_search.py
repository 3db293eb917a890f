"""Whether a number or a name stands in a result: answers are held against this, so it reads the rows, not the summaries."""

from __future__ import annotations

import json
import re
import sqlite3
from typing import TypeAlias

from planners.graphseek.results.result import Result
from planners.graphseek.results.shown_cell import CUT
from planners.graphseek.results.store_file import folded

__all__ = ["Sought", "graph_has", "table_has"]

Sought: TypeAlias = str | float | tuple[str, ...]
"""A name, the beginning of one, a number, or several names of which one is enough."""

_NUMBER_START = "[-+.0-9]*"  # GLOB: texts that a number begins, such as dates; CAST reads no number in others
_ROUNDING = 1e-6  # of the tolerance: 99.425 is shown as 99.42 or 99.43, and lies a little off the middle of both
_NOT_ASCII = "*[^ -~]*"  # GLOB; NOCASE does for the others


def table_has(connection: sqlite3.Connection, table: Result, value: Sought, tolerance: float) -> bool:
    """Return whether a cell of a table is this value."""
    tests = [_test(f"c{at}", each.type, value) for at, each in enumerate(table.columns) if each.type != "boolean"]
    wanted = " OR ".join(test for test in tests if test)
    if not wanted:
        return False
    query = f'SELECT 1 FROM "{table.handle}" WHERE {wanted} LIMIT 1'
    return connection.execute(query, _parameters(value, tolerance)).fetchone() is not None


def graph_has(connection: sqlite3.Connection, handle: str, value: Sought, tolerance: float) -> bool:
    """Return whether a property, a type or an id of a graph is this value."""
    query = (
        "SELECT 1 FROM bodies, json_tree(bodies.body) AS leaf WHERE bodies.handle = :handle AND "
        f"leaf.type IN ('text', 'integer', 'real') AND ({_test('leaf.atom', '', value)}) LIMIT 1"
    )
    parameters = {**_parameters(value, tolerance), "handle": handle}
    return connection.execute(query, parameters).fetchone() is not None


def _test(cell: str, kind: str, value: Sought) -> str:
    """Return the condition on one cell; empty where the column's type rules the value out."""
    is_number = kind in ("integer", "number")
    if isinstance(value, tuple):
        one = "IN (SELECT value FROM json_each(:values))"
        other = (
            f" OR {cell} GLOB '{_NOT_ASCII}' AND folded({cell}) {one}"
            if any(not each.isascii() for each in value)
            else ""
        )
        return "" if is_number else f"({cell} COLLATE NOCASE {one}{other})"
    if isinstance(value, str):
        if is_number:
            return ""
        beginning = value.endswith(CUT)
        if value.removesuffix(CUT).isascii():
            return f"{cell} LIKE :begin ESCAPE '\\'" if beginning else f"{cell} = :value COLLATE NOCASE"
        compared = f"folded(substr({cell}, 1, :length))" if beginning else f"folded({cell})"
        return f"{cell} GLOB '{_NOT_ASCII}' AND {compared} = :value"
    if is_number:
        return f"{cell} BETWEEN :least AND :greatest"
    number = f"(typeof({cell}) <> 'text' OR {cell} GLOB '{_NUMBER_START}')"
    return f"CAST({cell} AS REAL) BETWEEN :least AND :greatest AND {number}"


def _parameters(value: Sought, tolerance: float) -> dict[str, str | float]:
    if isinstance(value, tuple):
        return {"values": json.dumps([str(folded(_written(each))) for each in value])}
    if isinstance(value, str):
        name = _written(value.removesuffix(CUT))
        pattern = re.sub(r"([\\%_])", r"\\\1", name) + "%"
        return {"value": str(folded(name)), "length": len(name), "begin": pattern}
    slack = tolerance * (1 + _ROUNDING)
    return {"least": value - slack, "greatest": value + slack}


def _written(name: str) -> str:
    """Return a name as the file has it: without lone surrogates."""
    return name.encode(errors="replace").decode()
