"""The true answer of a query graph about generated personal data: every assignment of entities to its variables, joined edge by edge.

It has the semantics of ``planners/dfs/executor.py`` and nothing of its code but the reader of dates and of ordinals: whole tables are
joined, no tool is asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import date, datetime
from typing import TypeAlias

from benchmarks.personal import TruthTables
from planners.query.dates import read_range
from planners.query.graph_faults import read_ordinal
from planners.query.query_graph import EdgeConstraint, FilterConstraint, QueryGraph

__all__ = ["true_answer"]

_Assignment: TypeAlias = Mapping[str, str]
_SINGLE = {"Self", "Date"}
_RANGE = "range"
"""A date with filters: one range of days, to which each edge may give another day of it."""


def true_answer(graph: QueryGraph, truth: TruthTables, today: date) -> list[str]:
    """Return the identifiers that answer, in order; of a count, those that are counted.

    :raises InvalidArgumentError: when a date cannot be read.
    """
    values = {var: _values(graph, truth, var) for var in graph.vars}
    windows = {
        var: [read_range(str(each.value), today, each.op).range for each in graph.filters_of(var)]  # type: ignore[arg-type]
        for var, kind in graph.vars.items()
        if kind == "Date" and graph.filters_of(var)
    }
    found: list[_Assignment] = [{graph.return_var: each} for each in values[graph.return_var]]
    left, known = list(graph.edges), {graph.return_var}
    while left:
        edge = next(each for each in left if {each.source, each.target} & known)
        left.remove(edge)
        pairs = truth.pairs(graph.vars[edge.source], edge.edge, graph.vars[edge.target])
        if edge.target in windows:
            days = windows[edge.target]
            pairs = {(one, _RANGE) for one, two in pairs if all(date.fromisoformat(two[:10]) in each for each in days)}
        kept = [(one, two) for one, two in pairs if one in values[edge.source] and two in values[edge.target]]
        found = _joined(graph, found, edge, kept)
        known |= {edge.source, edge.target}
    for each in (each for each in graph.filters if each.field == "ordinal"):
        picked = _ordered(graph, truth, each.var, found)[read_ordinal(each.value)]
        found = [one for one in found if one[each.var] in picked]
    ordered = _ordered(graph, truth, graph.return_var, found)
    return ordered[:1] if graph.return_mode == "one" and graph.action == "find" else ordered


def _joined(
    graph: QueryGraph, found: list[_Assignment], edge: EdgeConstraint, pairs: list[tuple[str, str]]
) -> list[_Assignment]:
    ends: dict[tuple[str | None, str | None], list[tuple[str, str]]] = defaultdict(list)
    for one, two in pairs:
        for key in ((one, two), (one, None), (None, two)):
            ends[key].append((one, two))
    extended = (
        {**each, edge.source: one, edge.target: two}
        for each in found
        for one, two in ends[each.get(edge.source), each.get(edge.target)]
    )
    return [each for each in extended if _different(graph, each)]


def _different(graph: QueryGraph, assignment: _Assignment) -> bool:
    """Whether variables of one type stand for different entities."""
    chosen = [(graph.vars[var], value) for var, value in assignment.items() if graph.vars[var] not in _SINGLE]
    return len(set(chosen)) == len(chosen)


def _values(graph: QueryGraph, truth: TruthTables, var: str) -> set[str]:
    kind = graph.vars[var]
    if kind == "Self":
        return {"self"}
    if kind == "Date" and graph.filters_of(var):
        return {_RANGE}
    if kind == "Date":
        return {two for (_, _, target), pairs in truth.edges.items() if target == kind for _, two in pairs}
    filters = [each for each in graph.filters_of(var) if each.field != "ordinal"]
    return {id_ for id_, fields in truth.entities[kind].items() if all(_meets(fields, each) for each in filters)}


def _meets(fields: Mapping[str, object], each: FilterConstraint) -> bool:
    wanted = str(each.value).strip().casefold()
    if each.field == "email_address":
        return wanted in map(str.casefold, fields["email_addresses"])  # type: ignore[call-overload]
    if each.field == "extension":
        return str(fields["name"]).casefold().endswith(f".{wanted.removeprefix('.')}")
    value = str(fields[each.field]).casefold()
    return wanted in value if each.op == "contains" else value == wanted


def _ordered(graph: QueryGraph, truth: TruthTables, var: str, found: list[_Assignment]) -> list[str]:
    kind, ids = graph.vars[var], {each[var] for each in found}
    if kind == "Email":
        return sorted(ids, key=lambda each: (datetime.fromisoformat(truth.entities[kind][each]["sent_at"]), each))
    days = {one: two for one, two in truth.pairs(kind, "occurred_on", "Date")}
    return sorted(ids, key=lambda each: (days.get(each, ""), each))
