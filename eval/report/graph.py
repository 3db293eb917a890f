"""Sections on the tool graph, from whatever JSON values were measured of it.

Values of one kind become rows: a mapping of plain values a table of two columns, a list or mapping of mappings a table
with a column for each key. A proportion (``value``, ``low``, ``high``, ``hits``, ``of``) is one cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eval.report.document import NOTHING, Block, Cell, Column, Section, Table
from eval.report.numbers import percent

__all__ = ["graph_section"]

_PROPORTION = {"value", "low", "high", "hits", "of"}


def graph_section(graph: Mapping[str, Any], *, title: str, snapshot_id: str) -> Section:
    """Everything measured of a snapshot's graph.

    :param graph: JSON values, of :func:`eval.graph_quality.graph_quality` or any other.
    """
    return _section(title, graph, f"Snapshot {snapshot_id}.")


def _section(title: str, values: Mapping[str, Any], caption: str) -> Section:
    plain = {key: value for key, value in values.items() if _is_plain(value)}
    blocks: list[Block] = [_pairs(plain, caption)] if plain else []
    sections = [_titled(key, value, caption) for key, value in values.items() if not _is_plain(value)]
    return Section(title=title, blocks=tuple(blocks), sections=tuple(sections))


def _titled(key: str, value: Any, caption: str) -> Section:
    """The section of a value that is more than a row."""
    title = _words(key)
    if isinstance(value, Mapping):
        rows = [{"": name, **row} for name, row in value.items() if _is_row(row)]
        if rows and len(rows) == len(value):
            return Section(title=title, blocks=(_records(rows, caption),))
        return _section(title, value, caption)
    if all(_is_row(row) for row in value):
        return Section(title=title, blocks=(_records(value, caption),))
    return Section(title=title, blocks=(_lines(value, caption),))


def _is_row(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(map(_is_plain, value.values()))


def _is_plain(value: Any) -> bool:
    """Whether a value fits into one cell."""
    if isinstance(value, Mapping):
        return not value or _PROPORTION <= set(value)
    return not isinstance(value, (list, tuple)) or not any(isinstance(one, (list, tuple, Mapping)) for one in value)


def _pairs(values: Mapping[str, Any], caption: str) -> Table:
    rows = tuple((Cell(text=_words(key)), _cell(value)) for key, value in values.items())
    return Table(caption=caption, columns=(Column(name="", number=False), Column(name="", number=False)), rows=rows)


def _records(rows: Sequence[Mapping[str, Any]], caption: str) -> Table:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    columns = tuple(Column(name=_words(key), number=_is_numeric([row.get(key) for row in rows])) for key in keys)
    cells = tuple(tuple(_cell(row[key]) if key in row else NOTHING for key in keys) for row in rows)
    return Table(caption=caption, columns=columns, rows=cells)


def _lines(rows: Sequence[Any], caption: str) -> Table:
    """Rows that are lists, or of mixed kinds, without names for their columns."""
    lists = [row if isinstance(row, (list, tuple)) else [row] for row in rows]
    width = max(map(len, lists))
    columns = [
        Column(name="", number=_is_numeric([row[place] for row in lists if place < len(row)])) for place in range(width)
    ]
    cells = [tuple(map(_cell, row)) + (NOTHING,) * (width - len(row)) for row in lists]
    return Table(caption=caption, columns=tuple(columns), rows=tuple(cells))


def _is_numeric(values: Sequence[Any]) -> bool:
    given = [value for value in values if value is not None]
    return bool(given) and all(isinstance(value, (int, float, Mapping)) for value in given)


def _cell(value: Any) -> Cell:
    if isinstance(value, Mapping) and _PROPORTION <= set(value):
        return _proportion(value)
    if isinstance(value, (list, tuple)):
        return Cell(text=", ".join(map(_scalar, value)) or "–")
    return Cell(text=_scalar(value))


def _proportion(value: Mapping[str, Any]) -> Cell:
    """Percent with its interval and counts, and what else was said of it (what chance alone would give)."""
    if value["value"] is None:
        return NOTHING
    low, high = value["low"], value["high"]
    between = f"[{percent(low)}, {percent(high)}], " if low is not None and high is not None else ""
    more = {key: said for key, said in value.items() if key not in _PROPORTION and said is not None}
    others = "".join(f", {_words(key)} {_scalar(said)}" for key, said in more.items())
    return Cell(text=f"{percent(value['value'])} %", detail=f"{between}{value['hits']} of {value['of']}{others}")


def _scalar(value: Any) -> str:
    if value is None or value == {}:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _words(key: str) -> str:
    return key.replace("_", " ")
