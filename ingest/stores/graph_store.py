"""The seam ``GraphStore``: where a ToolGraph may be kept beside the snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ontology.errors import StorageError

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Counts", "GraphStore", "check_counts", "counts_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many nodes and edges."""

    nodes: int
    edges: int


class GraphStore(Protocol):
    """Keeps one ToolGraph."""

    @property
    def name(self) -> str:
        """Versioned name, ``memory.v1``."""

    def write(self, graph: nx.MultiDiGraph[str]) -> Counts:
        """Put the graph in the place of what the store held, and count what it holds then.

        :raises StorageError: when it cannot be written, or holds another number of nodes or edges afterwards.
        """

    def counts(self) -> Counts:
        """How much the store holds; nothing before the first write.

        :raises StorageError: when it cannot be asked.
        """


def counts_of(graph: nx.MultiDiGraph[str]) -> Counts:
    """How many nodes and edges a graph has."""
    return Counts(nodes=graph.number_of_nodes(), edges=graph.number_of_edges())


def check_counts(expected: Counts, found: Counts, *, subject: str) -> Counts:
    """``found``, when it is what was written.

    :raises StorageError: when it is not.
    """
    if expected != found:
        raise StorageError(
            f"the store holds {found.nodes} nodes and {found.edges} edges after {expected.nodes} nodes and {expected.edges} edges were written",
            subject=subject,
            remedy="Let nothing else write to the store and write the graph again",
        )
    return found
