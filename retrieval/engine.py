"""The seam ``Engine``: all that a server asks of one loaded snapshot, and the values it answers with.

An engine never changes: another snapshot is another engine, so whoever holds one reference for the time of a call
answers from one snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ontology.tool import Tool
from ontology.triple import Provenance
from retrieval.retriever import Retriever

__all__ = ["CatalogInfo", "EgoGraph", "Engine", "GraphEdge", "GraphNode"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A node of the tool graph.

    :param key: ``type:name``, unique in the snapshot.
    :param name: canonical name; for a tool its title.
    :param degree: how many edges it has in the whole graph.
    :param tool_id: the tool's id where the node is a tool, else empty.
    :param surface_forms: the forms in which documents write it.
    """

    key: str
    type: str
    name: str
    degree: int = 0
    tool_id: str = ""
    surface_forms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """A directed edge of the tool graph; ``head`` and ``tail`` are node keys.

    :param confidence: in [0, 1]; 1 for what a document declares.
    :param phrase: the words it was read from, where they are not the predicate's own name.
    """

    head: str
    predicate: str
    tail: str
    confidence: float = 1.0
    phrase: str = ""
    provenance: tuple[Provenance, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoGraph:
    """A node with its neighbours one edge away.

    :param nodes: the nodes at the other end of ``edges``, without the center, by key.
    :param edges: the most confident first, then by predicate, head and tail.
    :param total_degree: edges of the center under the predicates asked for, returned or not.
    """

    center: GraphNode
    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    total_degree: int = 0

    @property
    def truncated(self) -> bool:
        """Whether the limit left edges out."""
        return len(self.edges) < self.total_degree


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogInfo:
    """What a snapshot holds and how it was made.

    :param format_version: version of the snapshot's format on disk, from 1.
    :param ontology_digest: SHA-256 of the ontology's content, hexadecimal.
    :param models: role → name of the model that fills it.
    :param node_counts: entity type → number of nodes.
    :param edge_counts: predicate → number of edges.
    :param presets: the names that ``Engine.retriever`` knows.
    :param default_preset: the one that an empty name means.
    :param created_by: component → version that made the snapshot.
    """

    snapshot_id: str
    format_version: int
    ontology_name: str
    ontology_version: int
    ontology_digest: str
    tool_count: int
    presets: tuple[str, ...]
    default_preset: str
    models: Mapping[str, str] = field(default_factory=dict)
    node_counts: Mapping[str, int] = field(default_factory=dict)
    edge_counts: Mapping[str, int] = field(default_factory=dict)
    created_by: Mapping[str, str] = field(default_factory=dict)


class Engine(Protocol):
    """One loaded snapshot, ready to answer. Every method is thread-safe."""

    @property
    def snapshot_id(self) -> str:
        """The snapshot's id: its content hash."""

    def retriever(self, preset: str = "") -> Retriever:
        """The retriever of that name; an empty name means the default preset.

        :raises InvalidArgumentError: with subject ``preset``, listing the presets, when there is none of that name.
        """

    def tool(self, tool_id: str) -> Tool:
        """The tool of that id.

        :raises NotFoundError: when there is none.
        """

    def neighbors(self, node: str, *, predicates: Sequence[str] = (), limit: int = 100) -> EgoGraph:
        """The ego graph of a node.

        :param node: a node key (``type:name``) or a tool id.
        :param predicates: only edges of these; empty means all.
        :param limit: how many edges at most, 1 or more.
        :raises NotFoundError: when there is no such node.
        """

    def catalog(self) -> CatalogInfo:
        """What the snapshot holds."""

    def tool_ids(self, offset: int, limit: int) -> Sequence[str]:
        """Up to ``limit`` tool ids from position ``offset``, in the snapshot's order; empty past the end."""
