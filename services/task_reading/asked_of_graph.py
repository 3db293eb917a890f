"""What a query graph of the DFS planner asks, as the graph planner's rules take it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from planners.dfs.dates.read_range import read_range
from planners.dfs.domain import Domain, EdgeType, EntityType, Lookup
from planners.dfs.execution.ordinals import read_ordinal
from planners.dfs.query_graph import EdgeConstraint, FilterConstraint, QueryGraph
from planners.kgot.asked import Asked, AskedEdge, AskedFilter, AskedLookup, AskedOrder, AskedVariable
from planners.kgot.rules.shape_names import identifier_of, label_of

__all__ = ["asked_of_graph"]

_EMPTY = AskedLookup(request="")


def asked_of_graph(graph: QueryGraph, domain: Domain, today: date) -> Asked:
    """Return the same question over what tools answer.

    A range of days is no thing there: its edge becomes a condition on a field, and where a day is asked for, that field answers.
    """
    dated = {name for name, kind in graph.vars.items() if domain.types[kind].kind == "date"}
    edges = _needed(graph, dated)
    days = [edge for edge in graph.edges if edge.target in dated]
    used = {graph.return_var, *(end for edge in [*edges, *days] for end in (edge.source, edge.target))} - dated
    variables = tuple(_variable(name, kind, domain.types[kind]) for name, kind in graph.vars.items() if name in used)
    answered = next((edge for edge in days if edge.target == graph.return_var), None)
    filters = [
        AskedFilter(variable=each.var, field=each.field, operator=each.op, value=each.value)
        for each in graph.filters
        if each.var not in dated and domain.types[graph.vars[each.var]].fields[each.field].kind != "ordinal"
    ]
    for edge in days:
        filters += _day_filters(edge, graph, _gives(domain, graph, edge), today)
    return Asked(
        variables=variables,
        edges=tuple(_edge(edge, graph, domain) for edge in edges),
        filters=tuple(filters),
        order=next(_orders(graph, domain), None),
        measure="count" if graph.action == "count" else "find",
        variable=answered.source if answered is not None else graph.return_var,
        fields=(_gives(domain, graph, answered),) if answered is not None else (),
    )


def _needed(graph: QueryGraph, dated: set[str]) -> list[EdgeConstraint]:
    """Return the edges between things, without those that another one already says.

    Where two things join the same one by the same edge, and of one nothing else is asked, whatever is the other is that one too.
    """
    edges = [edge for edge in graph.edges if edge.target not in dated]

    def free(name: str, edge: EdgeConstraint) -> bool:
        others = [other for other in graph.edges_of(name) if other != edge]
        return name != graph.return_var and not others and not graph.filters_of(name)

    for edge in list(edges):
        for name, end in ((edge.source, "target"), (edge.target, "source")):
            same = [
                other
                for other in edges
                if other != edge and other.edge == edge.edge and getattr(other, end) == getattr(edge, end)
            ]
            twin = any(graph.vars[_other_end(other, end)] == graph.vars[name] for other in same)
            if edge in edges and twin and free(name, edge):
                edges.remove(edge)
    return edges


def _other_end(edge: EdgeConstraint, end: str) -> str:
    return edge.source if end == "target" else edge.target


def _variable(name: str, kind: str, declared: EntityType) -> AskedVariable:
    of = identifier_of(declared.identifier)
    nouns = tuple(word for word in declared.words if not word.startswith("to "))
    return AskedVariable(
        name=name,
        label=label_of(of or kind),
        nouns=(kind, *nouns),
        identifier=declared.identifier,
        lookup=_lookup(declared.lookup) if declared.lookup is not None else None,
        is_self=declared.kind == "self",
    )


def _lookup(lookup: Lookup | None) -> AskedLookup:
    if lookup is None:
        return _EMPTY
    return AskedLookup(
        request=lookup.request,
        takes=lookup.takes,
        gives=lookup.gives,
        fields=dict(lookup.fields),
        every=dict(lookup.every),
    )


def _declared(domain: Domain, graph: QueryGraph, edge: EdgeConstraint) -> EdgeType:
    found = domain.edge(edge.edge, graph.vars[edge.source], graph.vars[edge.target])
    if found is None:
        raise ValueError(f"the domain has no edge {edge.edge}")  # the parser's graphs fit their domain
    return found


def _gives(domain: Domain, graph: QueryGraph, edge: EdgeConstraint) -> str:
    return _declared(domain, graph, edge).forward[graph.vars[edge.target]].gives


def _edge(edge: EdgeConstraint, graph: QueryGraph, domain: Domain) -> AskedEdge:
    declared, target = _declared(domain, graph, edge), graph.vars[edge.target]
    forward = declared.forward[target]
    own = domain.types[graph.vars[edge.source]].identifier
    return AskedEdge(
        name=edge.edge,
        source=edge.source,
        target=edge.target,
        field=forward.gives if forward.gives != own else "",
        forward=_lookup(forward),
        backward=_lookup(declared.backward[target]),
    )


def _day_filters(edge: EdgeConstraint, graph: QueryGraph, field: str, today: date) -> Iterator[AskedFilter]:
    for each in graph.filters_of(edge.target):
        yield from _in_range(edge.source, field, each, today)


def _in_range(variable: str, field: str, each: FilterConstraint, today: date) -> Iterator[AskedFilter]:
    operator = "=" if each.op == "contains" else each.op
    found = read_range(str(each.value), today, operator).range
    base = AskedFilter(variable=variable, field=field, operator=">=", value="")
    if found.start is not None:
        yield replace(base, value=found.start.isoformat())
    if found.end is not None:
        yield replace(base, operator="<", value=found.end.isoformat())


def _orders(graph: QueryGraph, domain: Domain) -> Iterator[AskedOrder]:
    for each in graph.filters:
        declared = domain.types[graph.vars[each.var]]
        if declared.fields[each.field].kind == "ordinal":
            place = read_ordinal(each.value)
            last = place < 0
            yield AskedOrder(
                variable=each.var, field=declared.order, descending=last, nth=-place if last else place + 1
            )
