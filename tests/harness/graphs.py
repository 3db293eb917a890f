"""A tool graph as NetworkX has it."""

from __future__ import annotations

from typing import Any

import networkx as nx

from ontology import Provenance
from ontology.tool_graph import ToolGraph


def as_networkx(graph: ToolGraph) -> nx.MultiDiGraph[str]:
    """The same nodes and edges, in the same order, each with its attributes."""
    found: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    nodes: list[tuple[str, Any]] = list(graph.nodes.items())
    found.add_nodes_from(nodes)
    texts, ends = graph.texts, zip(graph.heads.tolist(), graph.tails.tolist(), graph.each_places(), strict=True)
    for edge, (head, tail, places) in enumerate(ends):
        attributes = {
            "predicate": texts[int(graph.predicates[edge])],
            "confidence": float(graph.confidences[edge]),
            "provenance": tuple(Provenance(texts[a], texts[b], texts[c], *span) for a, b, c, *span in places),
            "evidence_count": int(graph.evidence_counts[edge]),
            "phrases": graph.phrases.get(edge, ()),
            **graph.details.get(edge, {}),
        }
        found.add_edge(nodes[head][0], nodes[tail][0], key=texts[int(graph.keys[edge])], **attributes)
    nx.set_node_attributes(found, dict(found.degree()), "degree")
    return found
