"""The ToolGraph: the directed, typed multigraph of canonical triples, with evidence on every edge."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from ingest.linking.derived_edge import DerivedEdge
from ontology.ontology import Ontology
from ontology.tool import Tool, tool_text
from ontology.tool_graph import OVERLAY, Aliases, EdgeAttributes, NodeAttributes, Provenance, SurfaceForms, Triple

if TYPE_CHECKING:
    import networkx as nx


_LOG = logging.getLogger(__name__)
_EXTRACTOR = "derived.v1"  # versioned name of the origin of derived edges
MAX_PROVENANCE = 8
"""Maximum number of provenances on an edge; ``evidence_count`` is their number before this limit."""


class _Details(TypedDict, total=False):
    """Attributes of edges between tools."""

    parameter: str
    output: str
    entity: str
    field: str


@dataclass(slots=True)
class _Evidence:
    """Collector of the evidence of one edge."""

    predicate: str
    confidence: float = 0.0
    provenance: set[Provenance] = field(default_factory=set)
    phrases: set[str] = field(default_factory=set)
    details: _Details = field(default_factory=_Details)

    def add(self, triple: Triple) -> None:
        self.confidence = max(self.confidence, triple.confidence)
        self.provenance.add(triple.provenance)
        if triple.phrase:
            self.phrases.add(triple.phrase)

    def derive(self, edge: DerivedEdge) -> None:
        if edge.confidence < self.confidence:
            return
        self.confidence = edge.confidence
        ends = (edge.source, edge.target)
        consumer, producer = ends[::-1] if edge.predicate == "supplies" else ends
        if edge.origin:
            self.provenance = {Provenance(consumer, edge.origin, OVERLAY)}
        else:
            used = f"parameters.{edge.parameter}" if edge.parameter else "description" if edge.stated else "name"
            made = f"returns.{edge.output}" if edge.output else "name"
            self.provenance = {Provenance(consumer, used, _EXTRACTOR), Provenance(producer, made, _EXTRACTOR)}
        self.details = _Details(parameter=edge.parameter, output=edge.output, entity=edge.entity, field=edge.field)

    def attributes(self) -> EdgeAttributes:
        return {
            "predicate": self.predicate,
            "confidence": self.confidence,
            "provenance": tuple(sorted(self.provenance)[:MAX_PROVENANCE]),
            "evidence_count": len(self.provenance),
            "phrases": tuple(sorted(self.phrases)),
            **self.details,
        }


def node_key(type_: str, name: str) -> str:
    """Return the key of a node: ``tool:po/list``, ``business_object:purchase order``."""
    return f"{type_}:{name}"


def build_graph(
    tools: Sequence[Tool],
    triples: Iterable[Triple],
    ontology: Ontology,
    surface_forms: Mapping[str, SurfaceForms] = {},
    *,
    derived: Iterable[DerivedEdge] = (),
    aliases: Mapping[str, Aliases] = {},
    origins: Mapping[tuple[str, str], str] = {},
) -> nx.MultiDiGraph[str]:
    """Build the ToolGraph of canonical triples and derived edges.

    Every tool is a node, also one without a triple. The attributes are :class:`~ontology.tool_graph.NodeAttributes` and
    :class:`~ontology.tool_graph.EdgeAttributes`. The key of an edge is its predicate; that of a derived edge is predicate and
    parameter. Nodes: first the tools in catalogue order, then the entities by key.

    :param surface_forms: map from node key to its surface forms, from canonicalisation.
    :param aliases: map from node key to other names of it; of nodes that the graph does not have they are ignored.
    :param origins: map from (tool, needed tool) to where the owner of the catalogue declares the dependency: ``overlay.yaml:12``.
    """
    import networkx as nx

    of_tools = {node_key("tool", tool.id): tool for tool in tools}
    edges: dict[tuple[str, str, str], _Evidence] = {}
    unknown = 0
    for triple in triples:
        head, tail = node_key(triple.head_type, triple.head), node_key(triple.tail_type, triple.tail)
        if (triple.head_type == "tool" and head not in of_tools) or (
            triple.tail_type == "tool" and tail not in of_tools
        ):
            unknown += 1
            continue
        key = (head, tail, triple.predicate)
        if key not in edges:
            edges[key] = _Evidence(triple.predicate)
        edges[key].add(triple)
    if unknown:
        _LOG.warning("%d triple(s) name a tool that is not in the catalogue; they are not in the graph", unknown)
    for tool in tools:  # which output fills which input, where the document declares it
        for needed in tool.depends_on:
            edge = edges.get((node_key("tool", tool.id), node_key("tool", needed.tool), "depends_on"))
            if edge is not None and not edge.details and (needed.parameter or needed.output):
                edge.details = _Details(parameter=needed.parameter, output=needed.output)
    for (consumer, producer), origin in origins.items():
        edge = edges.get((node_key("tool", consumer), node_key("tool", producer), "depends_on"))
        if edge is not None:
            edge.provenance = {Provenance(consumer, origin, OVERLAY)}
    for link in derived:
        key = (node_key("tool", link.source), node_key("tool", link.target), link.key)
        edges.setdefault(key, _Evidence(link.predicate)).derive(link)
    entities = sorted({end for head, tail, _ in edges for end in (head, tail)} - of_tools.keys())
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(ontology=ontology.name, ontology_hash=ontology.digest)
    for node in (*of_tools, *entities):
        graph.add_node(node, **_node(node, of_tools.get(node), tuple(surface_forms.get(node, ()))))
    position = {key: number for number, key in enumerate(graph)}
    for head, tail, edge_key in sorted(edges, key=lambda edge: (position[edge[0]], position[edge[1]], edge[2])):
        graph.add_edge(head, tail, key=edge_key, **edges.pop((head, tail, edge_key)).attributes())
    for named in aliases.keys() & graph.nodes:
        graph.nodes[named]["aliases"] = aliases[named]
    for named, degree in graph.degree():
        graph.nodes[named]["degree"] = degree
    return graph


def _node(key: str, tool: Tool | None, forms: SurfaceForms) -> NodeAttributes:
    if tool is not None:
        return {
            "type": "tool",
            "id": tool.id,
            "name": tool.title,
            "text": tool_text(tool),
            "degree": 0,
            "surface_forms": forms,
        }
    type_, _, name = key.partition(":")
    # The label is the most frequent form in the documents; ties in alphabetical order.
    label = min(forms, key=lambda form: (-form[1], form[0]))[0] if forms else name
    return {"type": type_, "id": name, "name": label, "text": name, "degree": 0, "surface_forms": forms}
