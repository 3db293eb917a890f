"""What a query graph means, by trying every assignment. The oracle of the executor's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from planners.query.query_graph import EdgeConstraint, FilterConstraint, QueryGraph
from tests.planners.dfs.memory_resolver import MemoryResolver, date_range, meets, within

Assignment = Mapping[str, str]
PLACES = {"first": 0, "second": 1, "third": 2, "last": -1, "second to last": -2}


def brute_force(graph: QueryGraph, data: MemoryResolver, whole: QueryGraph | None = None) -> dict[str, list[str]]:
    """Variable → its candidates in order: those in at least one assignment, after the ordinals.

    :param whole: the graph that this one is a part of, in which the order of ordinals counts.
    """
    found = list(_assignments(graph, data))
    for var in sorted(
        graph.vars, key=lambda var: (-_distance(whole or graph, var), list((whole or graph).vars).index(var))
    ):
        for each in graph.filters_of(var):
            if each.field == "ordinal":
                ordered, place = _ordered(graph, data, var, found), PLACES[str(each.value)]
                picked = ordered[place] if -len(ordered) <= place < len(ordered) else None
                found = [one for one in found if one[var] == picked]
    return {var: _ordered(graph, data, var, found) for var in graph.vars}


def _ordered(graph: QueryGraph, data: MemoryResolver, var: str, found: list[Assignment]) -> list[str]:
    kind = graph.vars[var]
    at = {each: data.tables.get(kind, {}).get(each, {}).get("at", 0) for each in {one[var] for one in found}}
    return sorted(at, key=lambda each: (at[each], each))


def _distance(graph: QueryGraph, var: str) -> int:
    reached, steps = {graph.return_var}, 0
    while var not in reached:
        reached |= {
            end for edge in graph.edges for end in (edge.source, edge.target) if {edge.source, edge.target} & reached
        }
        steps += 1
    return steps


def _assignments(graph: QueryGraph, data: MemoryResolver) -> Iterator[Assignment]:
    domains = {var: _values(graph, data, var) for var in graph.vars}
    holds: list[tuple[set[str], Callable[[Assignment], bool]]] = []
    for edge in graph.edges:
        holds.append(({edge.source, edge.target}, lambda chosen, edge=edge: _joined(graph, data, edge, chosen)))  # type: ignore[misc]
    for one in graph.vars:
        for two in graph.vars:
            kind = graph.vars[one]
            if one < two and kind == graph.vars[two] and data.domain.types[kind].kind == "entity":
                holds.append(({one, two}, lambda chosen, one=one, two=two: chosen[one] != chosen[two]))  # type: ignore[misc]

    def extend(chosen: dict[str, str]) -> Iterator[Assignment]:
        if len(chosen) == len(domains):
            yield dict(chosen)
            return
        var = next(var for var in domains if var not in chosen)
        for value in domains[var]:
            chosen[var] = value
            if all(check(chosen) for names, check in holds if var in names and names <= chosen.keys()):
                yield from extend(chosen)
            del chosen[var]

    yield from extend({})


def _values(graph: QueryGraph, data: MemoryResolver, var: str) -> list[str]:
    kind = graph.vars[var]
    filters = [each for each in graph.filters_of(var) if each.field != "ordinal"]
    what = data.domain.types[kind].kind
    if what == "self":
        return ["self"]
    if what == "entity":
        return [each for each, fields in data.tables[kind].items() if all(meets(fields, one) for one in filters)]
    if filters:
        return _interval(filters)
    return sorted({two for (_, _, target), pairs in data.pairs.items() if target == kind for _, two in pairs})


def _interval(filters: list[FilterConstraint]) -> list[str]:
    ranges = [date_range(each) for each in filters]
    start = max((one.isoformat() for one, _ in ranges if one), default="..")
    end = min((two.isoformat() for _, two in ranges if two), default="..")
    return [f"{start}/{end}"] if ".." in (start, end) or start < end else []


def _joined(graph: QueryGraph, data: MemoryResolver, edge: EdgeConstraint, chosen: Assignment) -> bool:
    pairs = data.pairs.get((graph.vars[edge.source], edge.edge, graph.vars[edge.target]), set())
    source, target = chosen[edge.source], chosen[edge.target]
    if data.domain.types[graph.vars[edge.target]].kind == "date":
        return any(one == source and within(two, target) for one, two in pairs)
    return (source, target) in pairs
