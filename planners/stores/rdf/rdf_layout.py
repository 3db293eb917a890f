"""A property graph as RDF triples, and back.

- A node is a resource with one type, its label: ``?a a :Author``.
- A property is a triple with a literal: ``?a :name "Ann"``.
- An edge is a triple between nodes: ``?a :WROTE ?b``. So the simple query finds it.
- Edges with properties, and parallel edges, have a resource each besides: ``?e edge:source ?a ; edge:type :WROTE ;
  edge:target ?b ; :year 1997``. A triple between nodes without such a resource is one edge without properties.

What a model deletes of the simple triples takes the rest along: without its triple an edge has no resources, and without
its own triples a node has no edges.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ontology.errors import StatementError
from planners.stores.property_graph import Properties
from planners.stores.property_rows import EdgeRow, NodeRow, PropertyRows
from planners.stores.property_values import checked_name, checked_value, value_key
from planners.stores.rdf.rdf_terms import (
    EDGE_SOURCE,
    EDGE_TARGET,
    EDGE_TYPE,
    RDF_TYPE,
    RdfTerm,
    Triple,
    iri,
    iri_of_name,
    literal_of_value,
    name_of_iri,
    term_text,
    value_of_literal,
)

__all__ = ["RdfRows", "rows_of_triples", "triples_of_rows"]

_NEW = "urn:egotools:node:"
_EDGE_PARTS = (EDGE_SOURCE, EDGE_TYPE, EDGE_TARGET)
_About = Mapping[RdfTerm, list[RdfTerm]]
_Between = tuple[RdfTerm, RdfTerm, RdfTerm]


@dataclass(slots=True, kw_only=True)
class RdfRows:
    """Rows, and the resources that stand for them.

    :param resources: key of a row → its resource; new rows have none, nor have edges that need none.
    """

    rows: PropertyRows
    resources: dict[int, RdfTerm] = field(default_factory=dict)

    def node_iris(self) -> set[str]:
        """Return the IRIs of the nodes."""
        return {self.resources[key].value for key in self.rows.nodes if key in self.resources}

    def copy(self) -> RdfRows:
        """Return a copy that shares the rows."""
        return RdfRows(rows=self.rows.copy(), resources=dict(self.resources))


def triples_of_rows(graph: RdfRows) -> set[Triple]:
    """Return the triples of a graph; new rows are given resources."""
    triples: set[Triple] = set()
    for key, node in graph.rows.nodes.items():
        resource = graph.resources.setdefault(key, _new_resource())
        triples.add((resource, RDF_TYPE, iri_of_name(node.label)))
        triples |= _property_triples(resource, node.properties)
    between: dict[_Between, list[int]] = defaultdict(list)
    for key, edge in graph.rows.edges.items():
        ends = (graph.resources[edge.source], iri_of_name(edge.type), graph.resources[edge.target])
        between[ends].append(key)
    for ends, keys in between.items():
        triples.add(ends)
        if len(keys) == 1 and not graph.rows.edges[keys[0]].properties:
            graph.resources.pop(keys[0], None)
            continue
        for key in keys:
            resource = graph.resources.setdefault(key, _new_resource())
            triples |= {(resource, part, end) for part, end in zip(_EDGE_PARTS, ends, strict=True)}
            triples |= _property_triples(resource, graph.rows.edges[key].properties)
    return triples


def rows_of_triples(triples: Iterable[Triple], before: RdfRows | None = None) -> RdfRows:
    """Return the graph of triples.

    :param before: the graph that a statement changed: what it deleted of nodes and edges goes as a whole.
    :raises StatementError: when they are no property graph.
    """
    about: dict[RdfTerm, dict[RdfTerm, list[RdfTerm]]] = defaultdict(lambda: defaultdict(list))
    blanks: dict[RdfTerm, RdfTerm] = {}
    for triple in triples:
        s, p, o = (blanks.setdefault(term, _new_resource()) if term.kind == "blank" else term for term in triple)
        about[s][p].append(o)
    edges = {resource for resource, found in about.items() if not found.keys().isdisjoint(_EDGE_PARTS)}
    graph = RdfRows(rows=PropertyRows())
    keys: dict[RdfTerm, int] = {}
    for resource, found in about.items():
        if resource not in edges:
            keys[resource] = graph.rows.add_node(_node(resource, found))
            graph.resources[keys[resource]] = resource
    known = set(before.resources.values()) if before else set()
    gone = known - about.keys()
    plain = _plain_edges(about, keys, gone, edges)
    _add_edges(graph, keys, plain, _edge_resources(about, edges, plain, known, gone))
    return graph


def _add_edges(
    graph: RdfRows,
    keys: Mapping[RdfTerm, int],
    plain: Iterable[_Between],
    resources: Iterable[tuple[RdfTerm, _Between, Properties]],
) -> None:
    described = set()
    for resource, (source, kind, target), properties in resources:
        described.add((source, kind, target))
        if source not in keys or target not in keys:
            raise _fault(f"the edge {term_text(resource)} has an end that is no node", "Insert both nodes before it")
        row = EdgeRow(type=_name(kind), source=keys[source], target=keys[target], properties=properties)
        graph.resources[graph.rows.add_edge(row)] = resource
    for source, kind, target in plain:
        if (source, kind, target) not in described:
            graph.rows.add_edge(EdgeRow(type=_name(kind), source=keys[source], target=keys[target], properties={}))


def _plain_edges(
    about: Mapping[RdfTerm, _About], keys: Mapping[RdfTerm, int], gone: set[RdfTerm], edges: set[RdfTerm]
) -> list[_Between]:
    """Return the triples between nodes; those to a node that was deleted are left out."""
    plain = []
    for source in keys:
        for kind, objects in about[source].items():
            for target in objects:
                if kind == RDF_TYPE or target.kind != "iri" or target in gone:
                    continue
                if target not in keys:
                    what = "an edge" if target in edges else "no node: it has no type"
                    raise _fault(f"the object {term_text(target)} is {what}", f"Insert {term_text(target)} a :Label")
                plain.append((source, kind, target))
    return plain


def _edge_resources(
    about: Mapping[RdfTerm, _About], edges: set[RdfTerm], plain: list[_Between], known: set[RdfTerm], gone: set[RdfTerm]
) -> Iterable[tuple[RdfTerm, _Between, Properties]]:
    """Yield the edges that have a resource; those whose triple, or whose node, was deleted are left out."""
    standing = set(plain)
    for resource in edges:
        found = about[resource]
        parts = [found.get(part, []) for part in _EDGE_PARTS]
        if any(len(part) != 1 for part in parts):
            raise _fault(
                f"the edge {term_text(resource)} has not one source, one type and one target",
                "Delete an edge by its own triple: ?a :TYPE ?b",
            )
        ends = (parts[0][0], parts[1][0], parts[2][0])
        if not gone.isdisjoint(ends) or (resource in known and ends not in standing):
            continue
        yield resource, ends, _properties(found, _EDGE_PARTS)


def _node(resource: RdfTerm, found: _About) -> NodeRow:
    labels = found.get(RDF_TYPE, [])
    if len(labels) != 1:
        shown = " and ".join(sorted(term_text(label) for label in labels)) or "no type"
        raise _fault(
            f"the node {term_text(resource)} has {shown}",
            "Give each node exactly one: ?x a :Label; delete a node with all of its triples: ?x ?p ?o",
        )
    return NodeRow(label=checked_name(_name(labels[0]), "a label"), properties=_properties(found, (RDF_TYPE,)))


def _properties(found: _About, without: Iterable[RdfTerm]) -> Properties:
    properties = {}
    for predicate, objects in found.items():
        literals = [term for term in objects if term.kind == "literal"]
        if predicate in without or not literals:
            continue
        name = checked_name(_name(predicate), "the name of a property")
        values = sorted((value_of_literal(term, name) for term in literals), key=value_key)
        properties[name] = values[0] if len(values) == 1 else checked_value(tuple(values), name)
    return dict(sorted(properties.items()))


def _property_triples(resource: RdfTerm, properties: Properties) -> set[Triple]:
    return {(resource, iri_of_name(name), literal_of_value(value)) for name, value in properties.items()}


def _name(term: RdfTerm) -> str:
    name = name_of_iri(term)
    if name is None:
        raise _fault(
            f"{term_text(term)} is no name of this graph",
            "Write types and predicates with the prefix that is declared already: :name",
        )
    return name


def _new_resource() -> RdfTerm:
    return iri(_NEW + uuid.uuid4().hex)


def _fault(problem: str, remedy: str) -> StatementError:
    return StatementError(problem, subject="SPARQL", remedy=remedy)
