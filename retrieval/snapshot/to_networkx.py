"""The tool graph of a snapshot as a NetworkX graph, for exports and for exploration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrieval.snapshot.reader import Snapshot

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["snapshot_graph"]


def snapshot_graph(snapshot: Snapshot) -> nx.MultiDiGraph[str]:
    """Return the graph that the snapshot was written from: same nodes, edges, keys and attributes."""
    import networkx as nx

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(ontology=snapshot.manifest.ontology.name)
    keys: list[str] = []
    for number, node in enumerate(snapshot.nodes):
        key = snapshot.node_key(number)
        keys.append(key)
        graph.add_node(
            key,
            type=node.type,
            id=key.partition(":")[2],
            name=node.name,
            text=snapshot.node_text(number),
            degree=snapshot.adjacency.degree(number),
            surface_forms=node.surface_forms,
            **({"aliases": node.aliases} if node.aliases else {}),
        )
    adjacency = snapshot.adjacency
    for number, edge in enumerate(snapshot.edges):
        graph.add_edge(
            keys[adjacency.head(number)],
            keys[adjacency.tail(number)],
            key=edge.key,
            predicate=snapshot.predicates[adjacency.predicates[number]],
            confidence=float(adjacency.confidences[number]),
            **edge.attributes(),
        )
    return graph
