"""The ToolGraph: the directed, typed multigraph of canonical triples, with evidence on every edge."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.linking.derived_edge import DerivedEdge
from ontology.ontology import Ontology
from ontology.tool import Tool
from ontology.tool_text import tool_text
from ontology.triple import Provenance, Triple

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["EXTRACTOR", "MAX_PROVENANCE", "build_graph", "node_key"]

_LOG = logging.getLogger(__name__)

EXTRACTOR = "derived.v1"
"""Versioned name of what makes the derived edges."""
MAX_PROVENANCE = 8
"""At most so many provenances are kept on an edge; ``evidence_count`` says how many there were."""

SurfaceForms = Mapping[str, tuple[tuple[str, int], ...]]


def node_key(type_: str, name: str) -> str:
    """The key of a node: ``tool:po/list``, ``business_object:purchase order``."""
    return f"{type_}:{name}"


def build_graph(
    tools: Sequence[Tool],
    triples: Iterable[Triple],
    ontology: Ontology,
    surface_forms: Mapping[str, tuple[tuple[str, int], ...]] = {},
    *,
    derived: Iterable[DerivedEdge] = (),
) -> nx.MultiDiGraph[str]:
    """The ToolGraph of canonical triples and derived edges.

    Every tool is a node, also one without a triple. Nodes have ``type``, ``id``, ``name``, ``text``, ``degree`` and
    ``surface_forms``; edges, keyed by predicate, have ``predicate``, ``confidence`` (the best of their triples),
    ``provenance`` (sorted, at most 8), ``evidence_count`` and ``phrases``; edges between tools also ``parameter``, ``output``, ``entity``
    and ``field`` where they are known. The order is that of the catalogue for tools, then by key.

    :param surface_forms: node key → (form, count), most frequent first, as canonicalisation found them.
    :param derived: edges between tools that egotools itself concluded; keyed by predicate and parameter.
    """
    import networkx as nx

    nodes: dict[str, dict[str, Any]] = {node_key("tool", tool.id): _tool_node(tool, surface_forms) for tool in tools}
    edges: dict[tuple[str, str, str], _Edge] = {}
    unknown = 0
    for triple in triples:
        head, tail = node_key(triple.head_type, triple.head), node_key(triple.tail_type, triple.tail)
        if (triple.head_type == "tool" and head not in nodes) or (triple.tail_type == "tool" and tail not in nodes):
            unknown += 1
            continue
        edges.setdefault((head, tail, triple.predicate), _Edge(triple.predicate)).add(triple)
    if unknown:
        _LOG.warning("%d triple(s) name a tool that is not in the catalogue; they are not in the graph", unknown)
    _declare(tools, edges)
    for edge in derived:
        found = edges.setdefault(
            (node_key("tool", edge.source), node_key("tool", edge.target), edge.key), _Edge(edge.predicate)
        )
        found.derive(edge)
    entities = sorted({end for head, tail, _ in edges for end in (head, tail)} - nodes.keys())
    nodes.update((key, _entity_node(key, surface_forms)) for key in entities)
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(ontology=ontology.name, ontology_hash=ontology.digest)
    return _assemble(graph, nodes, edges)


def _assemble(
    graph: nx.MultiDiGraph[str], nodes: dict[str, dict[str, Any]], edges: dict[tuple[str, str, str], _Edge]
) -> nx.MultiDiGraph[str]:
    order = {key: position for position, key in enumerate(nodes)}
    graph.add_nodes_from(nodes.items())
    for head, tail, key in sorted(edges, key=lambda edge: (order[edge[0]], order[edge[1]], edge[2])):
        graph.add_edge(head, tail, key=key, **edges[head, tail, key].attributes())
    for node, degree in graph.degree():
        graph.nodes[node]["degree"] = degree
    return graph


class _Edge:
    """An edge while its evidence is gathered."""

    __slots__ = ("confidence", "details", "phrases", "predicate", "provenance")

    def __init__(self, predicate: str) -> None:
        self.predicate = predicate
        self.confidence = 0.0
        self.provenance: set[Provenance] = set()
        self.phrases: set[str] = set()
        self.details: dict[str, str] = {}

    def add(self, triple: Triple) -> None:
        self.confidence = max(self.confidence, triple.confidence)
        self.provenance.add(triple.provenance)
        if triple.phrase:
            self.phrases.add(triple.phrase)

    def derive(self, edge: DerivedEdge) -> None:
        if edge.confidence < self.confidence:
            return
        self.confidence = edge.confidence
        needs = edge.target if edge.predicate == "supplies" else edge.source
        gives = edge.source if edge.predicate == "supplies" else edge.target
        self.provenance = {
            Provenance(needs, f"parameters.{edge.parameter}" if edge.parameter else "name", EXTRACTOR),
            Provenance(gives, f"returns.{edge.output}" if edge.output else "name", EXTRACTOR),
        }
        self.details = {
            "parameter": edge.parameter,
            "output": edge.output,
            "entity": edge.entity,
            "field": edge.field,
        }

    def attributes(self) -> dict[str, Any]:
        return {
            "predicate": self.predicate,
            "confidence": self.confidence,
            "provenance": tuple(sorted(self.provenance)[:MAX_PROVENANCE]),
            "evidence_count": len(self.provenance),
            "phrases": tuple(sorted(self.phrases)),
            **self.details,
        }


def _declare(tools: Sequence[Tool], edges: dict[tuple[str, str, str], _Edge]) -> None:
    """Say on declared dependencies which output fills which input, where the source said so."""
    for tool in tools:
        for need in tool.depends_on:
            edge = edges.get((node_key("tool", tool.id), node_key("tool", need.tool), "depends_on"))
            if edge is not None and not edge.details and (need.parameter or need.output):
                edge.details = {"parameter": need.parameter, "output": need.output}


def _tool_node(tool: Tool, surface_forms: SurfaceForms) -> dict[str, Any]:
    return {
        "type": "tool",
        "id": tool.id,
        "name": tool.title,
        "text": tool_text(tool),
        "degree": 0,
        "surface_forms": tuple(surface_forms.get(node_key("tool", tool.id), ())),
    }


def _entity_node(key: str, surface_forms: SurfaceForms) -> dict[str, Any]:
    type_, _, name = key.partition(":")
    forms = tuple(surface_forms.get(key, ()))
    # The label is the form that documents use most; of equals the first in the alphabet.
    label = min(forms, key=lambda form: (-form[1], form[0]))[0] if forms else name
    return {"type": type_, "id": name, "name": label, "text": name, "degree": 0, "surface_forms": forms}
