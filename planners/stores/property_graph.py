"""The seam of property graphs: nodes with one label, directed edges with a type, properties on both, parallel edges allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

__all__ = [
    "DeleteEdge",
    "DeleteNode",
    "GraphEdge",
    "GraphNode",
    "GraphState",
    "InsertEdge",
    "InsertNode",
    "Language",
    "MergeEdge",
    "MergeNode",
    "NodeRef",
    "Operation",
    "Properties",
    "PropertyGraph",
    "QueryLimits",
    "QueryRows",
    "ReplaceGraph",
    "Scalar",
    "Statement",
    "Value",
]

Scalar: TypeAlias = str | int | float | bool
Value: TypeAlias = Scalar | tuple[Scalar, ...]
"""A value of a property: finite; the members of a tuple have one type. What has no value has no property."""
Properties: TypeAlias = Mapping[str, Value]
Language: TypeAlias = Literal["cypher", "sparql", "python"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRef:
    """All nodes with a label and with these properties among theirs."""

    label: str
    key: Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertNode:
    """Insert a node, also where an equal one stands."""

    label: str
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeNode:
    """Set properties of the nodes that match; where none does, insert one with the key and the properties."""

    node: NodeRef
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertEdge:
    """Insert an edge between each pair of nodes that match, also where an equal one stands."""

    type: str
    source: NodeRef
    target: NodeRef
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeEdge:
    """Insert an edge between each pair of nodes that match where none of this type with these properties stands."""

    type: str
    source: NodeRef
    target: NodeRef
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteNode:
    """Delete the nodes that match, and their edges."""

    node: NodeRef


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteEdge:
    """Delete the edges of a type between nodes that match, of those with these properties."""

    type: str
    source: NodeRef
    target: NodeRef
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A write in the language of the graph, of a model; an allow-list stands before the engine."""

    text: str
    parameters: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A node of a state.

    :param id: ``n1``, ``n2``, …: its place in the canonical order; it means nothing outside of this state.
    """

    id: str
    label: str
    properties: Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """An edge of a state; ``source`` and ``target`` are ids of its nodes."""

    type: str
    source: str
    target: str
    properties: Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphState:
    """A whole graph in canonical order: equal graphs in different engines give equal states."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceGraph:
    """Replace the whole graph by a state: a graph of another store, one of a journal, one without noise. No model writes it."""

    state: GraphState


Operation: TypeAlias = (
    InsertNode | MergeNode | InsertEdge | MergeEdge | DeleteNode | DeleteEdge | ReplaceGraph | Statement
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """The most rows that a query gives, and the most seconds that it takes."""

    rows: int = 1_000
    seconds: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRows:
    """The rows of a query.

    :param columns: their names.
    :param rows: JSON values; a node is ``{"label": …, "properties": {…}}``.
    :param cut: whether there were more.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    cut: bool = False


_LIMITS = QueryLimits()


class PropertyGraph(Protocol):
    """One graph. Concurrent calls are allowed; each applies as a whole or not at all."""

    @property
    def language(self) -> Language:
        """The language of statements and queries."""
        ...

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in their order: all, or none where one fails.

        :raises StatementError: when an operation is refused or fails.
        :raises StorageError: when the engine cannot be reached, or its disk is full.
        """
        ...

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """Read. The graph is not changed, whatever the text says.

        :raises StatementError: when the query is refused, fails, or takes too long.
        :raises StorageError: when the engine cannot be reached.
        """
        ...

    async def state(self) -> GraphState:
        """Return the whole graph.

        :raises StorageError: when the engine cannot be reached.
        """
        ...
