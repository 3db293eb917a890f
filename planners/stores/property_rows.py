"""A property graph as rows: nodes and edges under integer keys, changed by typed operations.

The memory store is this. Rows never change: a copy of the graph shares them, and what was changed is found by comparing identities.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ontology.errors import StatementError
from planners.stores.property_graph import (
    DeleteEdge,
    DeleteNode,
    GraphState,
    InsertEdge,
    InsertNode,
    MergeEdge,
    MergeNode,
    NodeRef,
    Operation,
    Properties,
    ReplaceGraph,
    Statement,
)
from planners.stores.property_values import checked_name, checked_properties, has_properties

__all__ = ["MAX_EDGES", "MAX_NODES", "EdgeRow", "NodeRow", "PropertyRows", "apply_typed"]

MAX_NODES = 50_000
"""Of a graph: about a hundred times the largest of the paper (522 nodes); its state in memory stays under 100 MiB."""
MAX_EDGES = 200_000
"""Of a graph: four for each node at most; it stops an edge between all nodes and all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """A node."""

    label: str
    properties: Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRow:
    """An edge; source and target are keys of nodes."""

    type: str
    source: int
    target: int
    properties: Properties


@dataclass(slots=True, kw_only=True)
class PropertyRows:
    """A graph that changes.

    :param next_key: of the next row, a node or an edge.
    """

    nodes: dict[int, NodeRow] = field(default_factory=dict)
    edges: dict[int, EdgeRow] = field(default_factory=dict)
    next_key: int = 1

    def copy(self) -> PropertyRows:
        """Return a copy that shares the rows."""
        return PropertyRows(nodes=dict(self.nodes), edges=dict(self.edges), next_key=self.next_key)

    def matching(self, node: NodeRef) -> list[int]:
        """Return the keys of the nodes that match, in their order."""
        return [
            key
            for key, row in self.nodes.items()
            if row.label == node.label and has_properties(row.properties, node.key)
        ]

    def add_node(self, row: NodeRow) -> int:
        """Insert a node and return its key.

        :raises StatementError: when the graph is full.
        """
        if len(self.nodes) >= MAX_NODES:
            raise _full("nodes", MAX_NODES)
        self.nodes[self.next_key] = row
        self.next_key += 1
        return self.next_key - 1

    def add_edge(self, row: EdgeRow) -> int:
        """Insert an edge and return its key.

        :raises StatementError: when the graph is full.
        """
        if len(self.edges) >= MAX_EDGES:
            raise _full("edges", MAX_EDGES)
        self.edges[self.next_key] = row
        self.next_key += 1
        return self.next_key - 1

    def delete_nodes(self, keys: Iterable[int]) -> None:
        """Delete nodes and their edges."""
        gone = set(keys)
        if gone:
            self.nodes = {key: row for key, row in self.nodes.items() if key not in gone}
            self.edges = {
                key: row for key, row in self.edges.items() if row.source not in gone and row.target not in gone
            }


def apply_typed(rows: PropertyRows, operation: Operation) -> None:
    """Change a graph by a typed operation.

    :raises StatementError: when it holds what stores do not keep, or is a statement; the graph is then changed in part.
    """
    match operation:
        case InsertNode():
            rows.add_node(_node(operation.label, operation.properties))
        case MergeNode():
            _merge_node(rows, operation)
        case InsertEdge() | MergeEdge():
            _add_edges(rows, operation, once=isinstance(operation, MergeEdge))
        case DeleteNode():
            rows.delete_nodes(rows.matching(_ref(operation.node)))
        case DeleteEdge():
            _delete_edges(rows, operation)
        case ReplaceGraph():
            _replace(rows, operation.state)
        case Statement():
            raise StatementError("a statement is not a typed operation", remedy="Give it to a store of its language")


def _node(label: str, properties: Properties) -> NodeRow:
    return NodeRow(label=checked_name(label, "a label"), properties=checked_properties(properties))


def _ref(node: NodeRef) -> NodeRef:
    return NodeRef(label=checked_name(node.label, "a label"), key=checked_properties(node.key))


def _merge_node(rows: PropertyRows, operation: MergeNode) -> None:
    found = rows.matching(_ref(operation.node))
    properties = checked_properties(operation.properties)
    for key in found:
        old = rows.nodes[key]
        rows.nodes[key] = NodeRow(label=old.label, properties=dict(sorted({**old.properties, **properties}.items())))
    if not found:
        rows.add_node(_node(operation.node.label, {**operation.node.key, **properties}))


def _add_edges(rows: PropertyRows, operation: InsertEdge | MergeEdge, *, once: bool) -> None:
    kind = checked_name(operation.type, "a type")
    properties = checked_properties(operation.properties)
    sources, targets = rows.matching(_ref(operation.source)), rows.matching(_ref(operation.target))
    standing = _joined(rows, kind, properties) if once else set()
    for source in sources:
        for target in targets:
            if (source, target) not in standing:
                rows.add_edge(EdgeRow(type=kind, source=source, target=target, properties=properties))


def _joined(rows: PropertyRows, kind: str, properties: Properties) -> set[tuple[int, int]]:
    return {
        (row.source, row.target)
        for row in rows.edges.values()
        if row.type == kind and has_properties(row.properties, properties)
    }


def _delete_edges(rows: PropertyRows, operation: DeleteEdge) -> None:
    kind = checked_name(operation.type, "a type")
    properties = checked_properties(operation.properties)
    sources, targets = set(rows.matching(_ref(operation.source))), set(rows.matching(_ref(operation.target)))
    rows.edges = {
        key: row
        for key, row in rows.edges.items()
        if row.type != kind
        or row.source not in sources
        or row.target not in targets
        or not has_properties(row.properties, properties)
    }


def _replace(rows: PropertyRows, state: GraphState) -> None:
    rows.nodes, rows.edges = {}, {}
    keys = {node.id: rows.add_node(_node(node.label, node.properties)) for node in state.nodes}
    for edge in state.edges:
        if edge.source not in keys or edge.target not in keys:
            raise StatementError("an edge of a state has an end that is none of its nodes", subject=edge.type)
        row = EdgeRow(
            type=checked_name(edge.type, "a type"),
            source=keys[edge.source],
            target=keys[edge.target],
            properties=checked_properties(edge.properties),
        )
        rows.add_edge(row)


def _full(what: str, limit: int) -> StatementError:
    return StatementError(
        f"the graph would have more than {limit:,} {what}", subject=what, remedy="Write fewer at once"
    )
