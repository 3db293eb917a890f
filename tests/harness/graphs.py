"""A tool graph as NetworkX has it."""

from __future__ import annotations

from typing import Any

import networkx as nx

from ontology import Provenance
from ontology.tool_graph import EDGE_DETAILS, ToolGraph


def as_networkx(graph: ToolGraph) -> nx.MultiDiGraph[str]:
    """The same nodes and edges, in the same order, each with its attributes."""
    found: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    nodes: list[tuple[str, Any]] = list(graph.nodes.items())
    found.add_nodes_from(nodes)
    edges, names = graph.edges, list(graph.nodes)
    phrases: dict[int, tuple[str, ...]] = {}
    for edge, phrase in zip(edges.phrase_edges.tolist(), edges.phrases.tolist(), strict=True):
        phrases[edge] = (*phrases.get(edge, ()), edges.texts[phrase])
    details = dict(zip(edges.detail_edges.tolist(), edges.details.tolist(), strict=True))
    for edge, (head, tail) in enumerate(zip(graph.heads.tolist(), graph.tails.tolist(), strict=True)):
        places = edges.places[edges.place_pointers[edge] : edges.place_pointers[edge + 1]].tolist()
        known = zip(EDGE_DETAILS, (edges.texts[text] for text in details.get(edge, [])), strict=False)
        attributes = {
            "predicate": edges.texts[int(graph.predicates[edge])],
            "confidence": float(graph.confidences[edge]),
            "provenance": tuple(Provenance(*(edges.texts[text] for text in place[:3]), *place[3:]) for place in places),
            "evidence_count": int(edges.evidence_counts[edge]),
            "phrases": phrases.get(edge, ()),
            **{name: text for name, text in known if text},
        }
        found.add_edge(names[head], names[tail], key=edges.texts[int(edges.keys[edge])], **attributes)
    nx.set_node_attributes(found, dict(found.degree()), "degree")
    return found
