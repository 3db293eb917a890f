"""The ToolGraph: the directed, typed multigraph of canonical triples, with evidence on every edge."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from ingest.linking.derived_edge import DerivedEdge
from ontology.ontology import Ontology
from ontology.tool import Tool, tool_text
from ontology.tool_graph import OVERLAY, Aliases, EdgeAttributes, NodeAttributes, Provenance, SurfaceForms, Triple

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["EXTRACTOR", "MAX_PROVENANCE", "build_graph", "node_key"]

_LOG = logging.getLogger(__name__)

EXTRACTOR = "derived.v1"
"""Versioned name of the origin of derived edges."""
MAX_PROVENANCE = 8
"""Maximum number of provenances on an edge; ``evidence_count`` is their number before this limit."""

_PLACE = attrgetter("tool_id", "field", "extractor", "start", "end")
_EdgeKey: TypeAlias = tuple[str, str, str]


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
    provenance: list[Provenance] = field(default_factory=list)
    phrases: frozenset[str] = frozenset()
    details: _Details | None = None

    def add(self, triple: Triple) -> None:
        self.confidence = max(self.confidence, triple.confidence)
        self.provenance.append(triple.provenance)
        if triple.phrase and triple.phrase not in self.phrases:
            self.phrases |= {triple.phrase}

    def derive(self, edge: DerivedEdge) -> None:
        if edge.confidence < self.confidence:
            return
        self.confidence = edge.confidence
        consumer, producer = edge.source, edge.target
        if edge.predicate == "supplies":
            consumer, producer = producer, consumer
        self.provenance = [
            Provenance(consumer, _consumer_field(edge), EXTRACTOR),
            Provenance(producer, f"returns.{edge.output}" if edge.output else "name", EXTRACTOR),
        ]
        if edge.origin:
            self.provenance = [Provenance(consumer, edge.origin, OVERLAY)]
        self.details = _Details(parameter=edge.parameter, output=edge.output, entity=edge.entity, field=edge.field)

    def attributes(self) -> EdgeAttributes:
        places = self.provenance if len(self.provenance) == 1 else sorted(set(self.provenance), key=_PLACE)
        return {
            "predicate": self.predicate,
            "confidence": self.confidence,
            "provenance": tuple(places[:MAX_PROVENANCE]),
            "evidence_count": len(places),
            "phrases": tuple(sorted(self.phrases)),
            **(self.details or {}),
        }


def _consumer_field(edge: DerivedEdge) -> str:
    if edge.parameter:
        return f"parameters.{edge.parameter}"
    return "description" if edge.stated else "name"


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

    nodes = {node_key("tool", tool.id): _tool_node(tool, surface_forms) for tool in tools}
    edges: dict[_EdgeKey, _Evidence] = {}
    unknown = 0
    for triple in triples:
        head, tail = node_key(triple.head_type, triple.head), node_key(triple.tail_type, triple.tail)
        if (triple.head_type == "tool" and head not in nodes) or (triple.tail_type == "tool" and tail not in nodes):
            unknown += 1
            continue
        key = (head, tail, triple.predicate)
        found = edges.get(key)
        if found is None:
            found = edges[key] = _Evidence(triple.predicate)
        found.add(triple)
    if unknown:
        _LOG.warning("%d triple(s) name a tool that is not in the catalogue; they are not in the graph", unknown)
    _add_declared_details(tools, edges)
    for (consumer, producer), origin in origins.items():
        declared = edges.get((node_key("tool", consumer), node_key("tool", producer), "depends_on"))
        if declared is not None:
            declared.provenance = [Provenance(consumer, origin, OVERLAY)]
    for edge in derived:
        key = (node_key("tool", edge.source), node_key("tool", edge.target), edge.key)
        edges.setdefault(key, _Evidence(edge.predicate)).derive(edge)
    entities = sorted({end for head, tail, _ in edges for end in (head, tail)} - nodes.keys())
    nodes.update((key, _entity_node(key, surface_forms)) for key in entities)
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(ontology=ontology.name, ontology_hash=ontology.digest)
    graph.add_nodes_from((key, dict(attributes)) for key, attributes in nodes.items())
    position = {key: number for number, key in enumerate(nodes)}
    degrees: Counter[str] = Counter()
    for head, tail, edge_key in sorted(edges, key=lambda edge: (position[edge[0]], position[edge[1]], edge[2])):
        graph.add_edge(head, tail, key=edge_key, **edges.pop((head, tail, edge_key)).attributes())
        degrees[head] += 1
        degrees[tail] += 1
    for named in aliases.keys() & nodes.keys():
        graph.nodes[named]["aliases"] = aliases[named]
    for node, degree in degrees.items():
        graph.nodes[node]["degree"] = degree
    return graph


def _add_declared_details(tools: Sequence[Tool], edges: Mapping[_EdgeKey, _Evidence]) -> None:
    """Add to declared dependencies which output fills which input, where the document declares it."""
    for tool in tools:
        for dependency in tool.depends_on:
            edge = edges.get((node_key("tool", tool.id), node_key("tool", dependency.tool), "depends_on"))
            if edge is not None and not edge.details and (dependency.parameter or dependency.output):
                edge.details = _Details(parameter=dependency.parameter, output=dependency.output)


def _tool_node(tool: Tool, surface_forms: Mapping[str, SurfaceForms]) -> NodeAttributes:
    forms = tuple(surface_forms.get(node_key("tool", tool.id), ()))
    return NodeAttributes(type="tool", id=tool.id, name=tool.title, text=tool_text(tool), degree=0, surface_forms=forms)


def _entity_node(key: str, surface_forms: Mapping[str, SurfaceForms]) -> NodeAttributes:
    type_, _, name = key.partition(":")
    forms = tuple(surface_forms.get(key, ()))
    # The label is the most frequent form in the documents; ties in alphabetical order.
    label = min(forms, key=lambda form: (-form[1], form[0]))[0] if forms else name
    return NodeAttributes(type=type_, id=name, name=label, text=name, degree=0, surface_forms=forms)
