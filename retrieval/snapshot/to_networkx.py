"""The tool graph of a snapshot, as NetworkX again: for exports and for looking around."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ontology.triple import Provenance
from retrieval.snapshot.reader import Snapshot

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["snapshot_graph"]


def snapshot_graph(snapshot: Snapshot) -> nx.MultiDiGraph[str]:
    """The graph that the snapshot was written from: same nodes, edges, keys and attributes."""
    import networkx as nx

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(ontology=snapshot.manifest["ontology"]["name"])
    keys: list[str] = []
    for number, row in enumerate(snapshot.nodes):
        key = snapshot.node_key(number)
        keys.append(key)
        graph.add_node(
            key,
            type=row["type"],
            id=key.partition(":")[2],
            name=row["name"],
            text=snapshot.node_text(number),
            degree=snapshot.adjacency.degree(number),
            surface_forms=tuple((form, count) for form, count in row["forms"]),
        )
    adjacency = snapshot.adjacency
    for number, row in enumerate(snapshot.edges):
        details: dict[str, Any] = {name: value for name, value in row.items() if name != "key"}
        details["provenance"] = tuple(Provenance(*said) for said in details.get("provenance", ()))
        details["phrases"] = tuple(details.get("phrases", ()))
        graph.add_edge(
            keys[adjacency.head(number)],
            keys[adjacency.tail(number)],
            key=row["key"],
            predicate=snapshot.predicates[adjacency.predicates[number]],
            confidence=float(adjacency.confidences[number]),
            **details,
        )
    return graph
