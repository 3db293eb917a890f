"""Every fault of a query graph under a domain, each with what is allowed instead, so that a parser can repair it."""

from __future__ import annotations

from collections.abc import Iterator

from planners.query.domain import Domain
from planners.query.query_graph import EdgeConstraint, FilterConstraint, QueryGraph

__all__ = ["graph_faults"]


def graph_faults(graph: QueryGraph, domain: Domain) -> tuple[str, ...]:
    """Return the faults of a graph, one sentence each, in the order of the graph; empty for a graph that can be executed."""
    return (
        *_variables(graph, domain),
        *(fault for each in graph.edges for fault in _edge(each, graph, domain)),
        *(fault for each in graph.filters for fault in _filter(each, graph, domain)),
        *_components(graph),
    )


def _variables(graph: QueryGraph, domain: Domain) -> Iterator[str]:
    for var, kind in graph.vars.items():
        if kind not in domain.types:
            yield f"The variable {var} has the unknown type {kind}; the types are {', '.join(domain.types)}."
    if graph.return_var not in graph.vars:
        yield f"The return variable {graph.return_var} is not in vars."


def _edge(edge: EdgeConstraint, graph: QueryGraph, domain: Domain) -> Iterator[str]:
    written = f"{edge.source} {edge.edge} {edge.target}"
    unknown = [var for var in (edge.source, edge.target) if var not in graph.vars]
    for var in unknown:
        yield f"The edge {written} names the variable {var}, which is not in vars."
    if unknown:
        return
    if edge.source == edge.target:
        yield f"The edge {written} leads from a variable to itself."
    source, target = graph.vars[edge.source], graph.vars[edge.target]
    if source not in domain.types or target not in domain.types or domain.edge(edge.edge, source, target):
        return
    if domain.edge(edge.edge, target, source):
        yield f"The edge {written} is the wrong way round: it leads from {target} to {source}."
        return
    allowed = [f"{a} {name} {b}" for a, name, b in domain.signatures() if {a, b} == {source, target}]
    between = f"; allowed between them: {', '.join(allowed)}" if allowed else "; no edge joins these types"
    yield f"The edge {written} does not lead from {source} to {target}{between}."


def _filter(each: FilterConstraint, graph: QueryGraph, domain: Domain) -> Iterator[str]:
    kind = graph.vars.get(each.var)
    if kind is None:
        yield f"The filter on {each.var}.{each.field} names a variable that is not in vars."
        return
    if kind not in domain.types:
        return
    fields = domain.types[kind].fields
    if each.field not in fields:
        allowed = ", ".join(fields) or "none"
        yield f"The type {kind} of {each.var} has no field {each.field} to filter by; its fields: {allowed}."
    elif each.op not in fields[each.field].operators:
        operators = ", ".join(fields[each.field].operators)
        yield f"The field {each.field} of {each.var} does not take the operator {each.op}; it takes {operators}."
    elif not str(each.value).strip():
        yield f"The filter on {each.var}.{each.field} has an empty value."


def _components(graph: QueryGraph) -> Iterator[str]:
    if graph.return_var not in graph.vars:
        return
    neighbours: dict[str, set[str]] = {var: set() for var in graph.vars}
    for edge in graph.edges:
        if edge.source in neighbours and edge.target in neighbours:
            neighbours[edge.source].add(edge.target)
            neighbours[edge.target].add(edge.source)
    reached, waiting = {graph.return_var}, [graph.return_var]
    while waiting:
        new = neighbours[waiting.pop()] - reached
        reached |= new
        waiting.extend(new)
    for var in graph.vars:
        if var not in reached:
            yield f"No path of edges joins the variable {var} to the return variable {graph.return_var}."
