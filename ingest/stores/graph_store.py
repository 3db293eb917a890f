"""The interface ``GraphStore``: storage for a ToolGraph in addition to the snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ontology.errors import StorageError

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Counts", "GraphStore", "check_counts", "counts_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The number of nodes and of edges."""

    nodes: int
    edges: int


class GraphStore(Protocol):
    """Storage of one ToolGraph."""

    @property
    def name(self) -> str:
        """Versioned name, ``memory.v1``."""

    def write(self, graph: nx.MultiDiGraph[str]) -> Counts:
        """Replace the content of the store by the graph, and return the counts read from the store.

        :raises StorageError: when writing fails, or the counts differ from those of the graph.
        """

    def counts(self) -> Counts:
        """Return the number of nodes and edges in the store; zero before the first write.

        :raises StorageError: when the store cannot be read.
        """


def counts_of(graph: nx.MultiDiGraph[str]) -> Counts:
    """Return the number of nodes and edges of a graph."""
    return Counts(nodes=graph.number_of_nodes(), edges=graph.number_of_edges())


def check_counts(expected: Counts, found: Counts, *, subject: str) -> Counts:
    """Return ``found`` when it equals ``expected``.

    :raises StorageError: when it differs.
    """
    if expected != found:
        raise StorageError(
            f"the store holds {found.nodes} nodes and {found.edges} edges after {expected.nodes} nodes and {expected.edges} edges were written",
            subject=subject,
            remedy="Let nothing else write to the store and write the graph again",
        )
    return found
