"""Graphs that exclude or have alternatives: each plain graph of them is executed, and the answers are put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from planners.dfs.executor import answer_graph
from planners.query.query_graph import EdgeConstraint, FilterConstraint, QueryGraph

__all__ = ["answer_composed"]


async def answer_composed(graph: QueryGraph, *given: Any, **named: Any) -> dict[str, Any]:
    """Execute a graph as :func:`answer_graph` does; of several plain graphs the answer, the count, calls and totals are of all together."""
    wanted = list(_plain(graph))
    if wanted == [graph]:
        return await answer_graph(graph, *given, **named)
    found = [await answer_graph(each, *given, **named) for each in wanted]
    excluded = [
        await answer_graph(each, *given, **named)
        for edge in graph.edges
        if edge.negated
        for each in _plain(_with_only(graph, edge))
    ]
    out = {each["id"] for one in excluded for each in one["answer"]}
    answer = {each["id"]: each for one in found for each in one["answer"] if each["id"] not in out}
    every = [*found, *excluded]
    known = all(each["count"] is not None for each in every)
    shown = list(answer.values()) if graph.action == "find" else []
    return {
        **found[0],
        "answer": shown[:1] if graph.return_mode == "one" else shown,
        "count": len(answer) if known else None,
        "missing": [missing for each in every for missing in each["missing"]],
        "calls": [call for each in every for call in each["calls"]],
        "totals": {key: sum(each["totals"][key] for each in every) for key in found[0]["totals"]},
        "exact": all(each["exact"] for each in every),
    }


def _plain(graph: QueryGraph) -> Iterator[QueryGraph]:
    """The graphs without what is negated, one for each choice among alternative values; they find all, so that answers can be compared."""
    gone = {var for edge in graph.edges if edge.negated for var in _behind(graph, edge)}
    kept = [
        each
        for each in graph.constraints
        if not (isinstance(each, EdgeConstraint) and (each.negated or {each.source, each.target} & gone))
        and not (isinstance(each, FilterConstraint) and each.var in gone)
    ]
    choices = [each.values if isinstance(each, FilterConstraint) else () for each in kept]
    if not gone and all(len(values) < 2 for values in choices):
        yield graph
        return
    for chosen in product(*(values or (None,) for values in choices)):
        pairs = zip(kept, chosen, strict=True)
        constraints = [
            each if value is None else each.model_copy(update={"value": value, "others": ()}) for each, value in pairs
        ]
        kinds = {var: kind for var, kind in graph.vars.items() if var not in gone}
        yield _changed(graph, constraints, kinds)


def _with_only(graph: QueryGraph, edge: EdgeConstraint) -> QueryGraph:
    """The graph in which a negated edge holds, and what else is negated is left out."""
    out = {each for each in graph.edges if each.negated and each is not edge}
    gone = {var for each in out for var in _behind(graph, each)}
    turned = [each.model_copy(update={"negated": False}) if each is edge else each for each in graph.constraints]
    kept = [each for each in turned if each not in out and not ({*_variables(each)} & gone)]
    return _changed(graph, kept, {var: kind for var, kind in graph.vars.items() if var not in gone})


def _changed(graph: QueryGraph, constraints: Iterable[Any], kinds: dict[str, str]) -> QueryGraph:
    update = {"action": "find", "return_mode": "all", "constraints": tuple(constraints), "vars": kinds}
    return graph.model_copy(update=update)


def _variables(each: Any) -> tuple[str, ...]:
    return (each.source, each.target) if isinstance(each, EdgeConstraint) else (each.var,)


def _behind(graph: QueryGraph, edge: EdgeConstraint) -> set[str]:
    """The variables behind a negated edge, seen from the return variable."""
    start = edge.target if edge.source == graph.return_var else edge.source
    found, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        ends = {end for each in graph.edges_of(here) if each is not edge for end in (each.source, each.target)} - found
        found |= ends
        waiting.extend(ends)
    return found
