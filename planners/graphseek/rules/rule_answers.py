"""Answers from results, by templates: names, numbers as the results have them, and what was done otherwise than it was asked."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ontology.names import words
from planners.graphseek.results.result import Cell, Result
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.rules.phrase_lexicon import Lexicon
from planners.graphseek.rules.question_planner import Planned
from planners.graphseek.turn import Answer

__all__ = ["answer_of"]

_SHOWN = 20
"""Names that an answer tells; all stand in its table."""
_PAIRS = 60
"""Pairs of a name and a number that it tells: the paper's first use case has 55 sites."""


async def answer_of(planned: Planned, lexicon: Lexicon, results: ResultStore, notes: Sequence[str]) -> Answer:
    """Return the answer to a plan that has its results."""
    said = [await _said(planned, each, lexicon, results) for each in planned.results]
    of = tuple(each.handle for each in planned.results)
    return Answer(text="\n".join(filter(None, said)), of=of, notes=tuple(notes))


async def _said(planned: Planned, result: Result, lexicon: Lexicon, results: ResultStore) -> str:
    if result.kind == "graph":
        return f"{result.handle} is a graph of {result.size:,} nodes."
    if not result.size:
        return "There is none." if planned.shape != "size" else "There are 0."
    if planned.shape == "size":
        return f"There are {'more than ' if result.cut else ''}{result.size:,}."
    rows = await results.rows(result.handle, limit=_PAIRS)
    if planned.shape == "cell":
        return _cell(planned, result, rows[0][-1])
    rest = _rest(planned, result, _SHOWN)
    if planned.shape in ("pairs", "firsts") or _is_grouped(result):
        return _pairs(result, rows, _rest(planned, result, len(rows)))
    at = _name_at(planned, result, lexicon)
    names = list(dict.fromkeys(_shown(row[at]) for row in rows if row[at] is not None))
    if planned.asked is not None and (key := planned.asked.key.name) in _columns(result):
        value_at = _columns(result).index(key)
        told = [f"{_shown(row[at])}: {_shown(row[value_at])}{_unit(planned)}" for row in rows[:_SHOWN]]
        return "; ".join(told) + rest
    shown = names[:_SHOWN]
    count = f"{result.size:,} found: " if result.size > 1 else ""
    return count + "; ".join(shown) + rest


def _cell(planned: Planned, result: Result, value: Cell) -> str:
    if value is None:
        return "There is none."
    if planned.asked is None:
        return f"There are {_shown(value)}."
    asked = " ".join(words(result.columns[-1].name))
    return f"{asked[:1].upper()}{asked[1:]}: {_shown(value)}{_unit(planned)}."


def _pairs(result: Result, rows: Sequence[tuple[Cell, ...]], rest: str) -> str:
    """Tell names with numbers; the column of nodes is left out."""
    at = [place for place, column in enumerate(result.columns) if column.type != "node"]
    told = [": ".join(_shown(row[place]) for place in at[:2]) for row in rows]
    return "; ".join(told) + rest


def _is_grouped(result: Result) -> bool:
    return all(column.type != "node" for column in result.columns) and "count" in _columns(result)


def _name_at(planned: Planned, result: Result, lexicon: Lexicon) -> int:
    columns = _columns(result)
    of = next((each.node_type for each in result.columns if each.type == "node"), "") or planned.type
    for name in (*lexicon.naming.get(of, ()), "name"):
        if name in columns:
            return columns.index(name)
    return next((at for at, each in enumerate(result.columns) if each.type == "string"), 0)


def _columns(result: Result) -> list[str]:
    return [each.name for each in result.columns]


def _rest(planned: Planned, result: Result, shown: int) -> str:
    if result.size <= shown and (not result.cut or planned.shape.startswith("first")):
        return "."
    return f"; the others stand in {result.handle}{', which is cut' if result.cut else ''}."


def _unit(planned: Planned) -> str:
    return f" {planned.asked.unit}" if planned.asked and planned.asked.unit else ""


def _shown(value: Cell) -> str:
    """A number as the result has it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 1e15:
        return f"{int(value)}"
    return str(value)
