"""What tables and columns a typed operation names."""

from __future__ import annotations

from planners.graphs.ladybug.column_types import natural_type
from planners.graphs.ladybug.ladybug_tables import Needs
from planners.graphs.property_graph import (
    DeleteEdge,
    DeleteNode,
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
            _written(needs, None, operation.properties)
        case MergeNode():
            _written(needs, None, {**operation.node.key, **operation.properties})
        case InsertEdge() | MergeEdge():
            _written(needs, checked_name(operation.type, "a type"), operation.properties)
        case ReplaceGraph():
            for node in operation.state.nodes:
                _written(needs, None, node.properties)
            for edge in operation.state.edges:
                _written(needs, checked_name(edge.type, "a type"), edge.properties)
        case DeleteNode() | DeleteEdge() | Statement():
            pass
    return needs


def _written(needs: Needs, type_: str | None, properties: Properties) -> None:
    """Note the properties of a node, or of an edge of a type."""
    if type_ is not None:
        needs.types.add(type_)
    for name, value in checked_properties(properties).items():
        needs.want("NODE" if type_ is None else "REL", type_, name, natural_type(value))
