"""What tables and columns a typed operation names."""

from __future__ import annotations

from planners.graphs.column_types import natural_type
from planners.graphs.ladybug_tables import Needs, RowKind
from planners.graphs.property_graph import (
    DeleteEdge,
    DeleteNode,
    InsertEdge,
    InsertNode,
    MergeEdge,
    MergeNode,
    Operation,
    Properties,
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
        case DeleteNode() | DeleteEdge():
            pass
    return needs


def _written(needs: Needs, kind: RowKind, owner: str, properties: Properties) -> None:
    (needs.labels if kind == "NODE" else needs.types).add(owner)
    for name, value in checked_properties(properties).items():
        needs.want(kind, owner, name, natural_type(value))
