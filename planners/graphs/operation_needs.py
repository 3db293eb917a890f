"""What tables and columns a typed operation names."""

from __future__ import annotations

from ontology.errors import StatementError
from planners.graphs.column_types import natural_type
from planners.graphs.ladybug_tables import Needs, RowKind
from planners.graphs.property_graph import (
    DeleteEdge,
    DeleteNode,
    GraphState,
    InsertEdge,
    InsertNode,
    MergeEdge,
    MergeNode,
    Operation,
    Properties,
    ReplaceGraph,
    Statement,
)
from planners.graphs.property_values import checked_name, checked_properties

__all__ = ["operation_needs"]


def operation_needs(operation: Operation) -> Needs:
    """Return what an operation writes; what it only compares needs no table.

    :raises StatementError: when a name or value is none that stores keep.
    """
    needs = Needs()
    match operation:
        case InsertNode():
            _written(needs, "NODE", checked_name(operation.label, "a label"), operation.properties)
        case MergeNode():
            properties = {**operation.node.key, **operation.properties}
            _written(needs, "NODE", checked_name(operation.node.label, "a label"), properties)
        case InsertEdge() | MergeEdge():
            source, target = (checked_name(end.label, "a label") for end in (operation.source, operation.target))
            needs.labels |= {source, target}
            kind = checked_name(operation.type, "a type")
            needs.pairs.add((kind, source, target))
            _written(needs, "REL", kind, operation.properties)
        case ReplaceGraph():
            _of_state(needs, operation.state)
        case DeleteNode() | DeleteEdge() | Statement():
            pass
    return needs


def _of_state(needs: Needs, state: GraphState) -> None:
    labels = {node.id: checked_name(node.label, "a label") for node in state.nodes}
    for node in state.nodes:
        _written(needs, "NODE", node.label, node.properties)
    for edge in state.edges:
        if edge.source not in labels or edge.target not in labels:
            raise StatementError("an edge of a state has an end that is none of its nodes", subject=edge.type)
        needs.pairs.add((checked_name(edge.type, "a type"), labels[edge.source], labels[edge.target]))
        _written(needs, "REL", edge.type, edge.properties)


def _written(needs: Needs, kind: RowKind, owner: str, properties: Properties) -> None:
    (needs.labels if kind == "NODE" else needs.types).add(owner)
    for name, value in checked_properties(properties).items():
        needs.want(kind, owner, name, natural_type(value))
