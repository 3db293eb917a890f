"""Slips of a model that need no second answer: an edge the wrong way round, one that can be no other left out, an entity or an ordinal
that the request does not name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from planners.query.domain import Domain, FieldType
from planners.query.ordinals import names_ordinal
from planners.query.query_graph import Constraint, EdgeConstraint, FilterConstraint, QueryGraph, words_of

__all__ = ["field_of", "mended"]


def mended(graph: QueryGraph, request: str, domain: Domain) -> tuple[QueryGraph, tuple[str, ...]]:
    """Return the graph without slips, and a sentence for each that changes what is asked. No gold graph of the half ``dev`` is changed.

    - Edges are said without a direction, and a server may not follow the schema: an edge is turned where only that way exists.
    - The value of an extension loses its dot.
    - A variable without an edge gets one where a single edge of the domain joins it to another variable.
    - An end of a chain that has no filter, is not asked for, and neither whose type nor whose edge a word of the request names, goes:
      "mails from Ann" need not have a link. The user is often not named ("the last email received") and stays. So does an ordinal go
      where the request says none.
    """
    graph = graph.model_copy(update={"constraints": tuple(_tidied(each, graph, domain) for each in graph.constraints)})
    said: list[str] = []
    for var in graph.vars:
        joining = _joining(var, graph, domain)
        if len(joining) == 1 and not graph.edges_of(var):
            said.append(f'"{words_of(joining[0])}" is added: no other edge joins {var}.')
            graph = graph.model_copy(update={"constraints": (*graph.constraints, joining[0])})
    while (found := _addition(graph, request.casefold(), domain)) is not None:
        constraint, what = found
        said.append(f'"{words_of(constraint)}" is left out: the request names no {what}.')
        graph = _without(graph, constraint)
    return graph, tuple(said)


def field_of(each: FilterConstraint, graph: QueryGraph, domain: Domain) -> FieldType | None:
    """The field that a filter names, or None."""
    kind = domain.types.get(graph.vars.get(each.var, ""))
    return kind.fields.get(each.field) if kind else None


def _tidied(each: Constraint, graph: QueryGraph, domain: Domain) -> Constraint:
    if isinstance(each, EdgeConstraint):
        source, target = graph.vars[each.source], graph.vars[each.target]
        turned = not domain.edge(each.edge, source, target) and domain.edge(each.edge, target, source)
        return each.model_copy(update={"source": each.target, "target": each.source}) if turned else each
    field = field_of(each, graph, domain)
    return each.model_copy(update={"value": str(each.value).lstrip(".")}) if field and ".*" in field.words else each


def _joining(var: str, graph: QueryGraph, domain: Domain) -> list[EdgeConstraint]:
    """Every edge that can join a variable to another one."""
    return [
        EdgeConstraint.model_validate({"from": one, "edge": edge, "to": two})
        for source, edge, target in domain.signatures()
        for one, kind in graph.vars.items()
        for two, other in graph.vars.items()
        if (kind, other) == (source, target) and one != two and var in (one, two)
    ]


def _without(graph: QueryGraph, constraint: Constraint) -> QueryGraph:
    """The graph without a constraint and the variables that only it used."""
    kept = tuple(each for each in graph.constraints if each is not constraint)
    graph = graph.model_copy(update={"constraints": kept})
    used = {graph.return_var, *(each.var for each in graph.filters)}
    used |= {var for each in graph.edges for var in (each.source, each.target)}
    return graph.model_copy(update={"vars": {var: kind for var, kind in graph.vars.items() if var in used}})


def _addition(graph: QueryGraph, request: str, domain: Domain) -> tuple[Constraint, str] | None:
    for each in graph.filters:
        field = field_of(each, graph, domain)
        if field and field.kind == "ordinal" and not names_ordinal(request):
            return each, "ordinal"
    for var, kind in graph.vars.items():
        edges = graph.edges_of(var)
        if len(edges) != 1 or graph.filters_of(var) or var == graph.return_var or domain.types[kind].kind == "self":
            continue
        if not _names(request, domain.types[kind].words) and not _says(request, edges[0].edge, domain):
            return edges[0], kind
    return None


def _names(request: str, words: Iterable[str]) -> bool:
    """Whether a word of the request begins as one of these."""
    stems = (word.removeprefix("to ").casefold().removesuffix("y") for word in words)
    return any(re.search(rf"\b{re.escape(stem)}", request) for stem in stems)


def _says(request: str, edge: str, domain: Domain) -> bool:
    """Whether the request has a word by which edges of this name, and no others, are said: "attachments"."""
    own, others = set[str](), set[str]()
    for each in domain.edges:
        (own if each.name == edge else others).update(re.findall(r"(?<![{\w])\w{4,}(?![}\w])", " ".join(each.words)))
    return _names(request, own - others)
