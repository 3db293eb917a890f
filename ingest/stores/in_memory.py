"""The graph store in memory: a NetworkX graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.stores.graph_store import Counts, check_counts, counts_of

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["MemoryStore"]


class MemoryStore:
    """Storage of a copy of the graph, for the lifetime of the process."""

    name = "memory.v1"

    def __init__(self) -> None:
        self.graph: nx.MultiDiGraph[str] | None = None

    def write(self, graph: nx.MultiDiGraph[str]) -> Counts:
        """Store a copy of the graph, and return its counts."""
        self.graph = graph.copy()
        return check_counts(counts_of(graph), self.counts(), subject="memory")

    def counts(self) -> Counts:
        """Return the number of nodes and edges of the stored graph; zero before the first write."""
        return Counts(nodes=0, edges=0) if self.graph is None else counts_of(self.graph)
