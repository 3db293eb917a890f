"""Nodes and edges that a model writes as JSON, as writes: what has the same key is written once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from inference.structured_chat import UnusableAnswerError
from planners.kgot.llm.model_asker import closed_object
from planners.stores.property_graph import (
    DeleteEdge,
    DeleteNode,
    InsertEdge,
    InsertNode,
    MergeEdge,
    MergeNode,
    NodeRef,
    Operation,
    Statement,
    Value,
)

__all__ = ["OPERATIONS_SCHEMA", "operation_text", "read_operations"]

_TEXT = {"type": "string", "minLength": 1}
_REF = closed_object(label=_TEXT, key={"type": "object"})
OPERATIONS_SCHEMA = closed_object(
    nodes={
        "type": "array",
        "items": closed_object(label=_TEXT, key={"type": "object"}, properties={"type": "object"}),
    },
    edges={
        "type": "array",
        "items": {**closed_object(type=_TEXT, properties={"type": "object"}, **{"from": _REF, "to": _REF})},
    },
)
"""Of an answer with nodes and edges."""


def read_operations(value: Mapping[str, Any]) -> tuple[Operation, ...]:
    """Return the writes of an answer inside the schema, nodes first.

    :raises UnusableAnswerError: when a node has no key, or a value is no text, number, true, false or list of these.
    """
    nodes = [
        MergeNode(node=_ref(node, "a node"), properties=_properties(node["properties"])) for node in value["nodes"]
    ]
    edges = [
        MergeEdge(
            type=edge["type"],
            source=_ref(edge["from"], "from"),
            target=_ref(edge["to"], "to"),
            properties=_properties(edge["properties"]),
        )
        for edge in value["edges"]
    ]
    return (*nodes, *edges)


def operation_text(operation: Operation) -> str:
    """Return a write as a model would write it; a statement as it stands."""
    if isinstance(operation, Statement):
        return operation.text
    nodes, edges = [], []
    match operation:
        case InsertNode():
            nodes.append({"label": operation.label, "key": dict(operation.properties), "properties": {}})
        case MergeNode():
            nodes.append({**_shown(operation.node), "properties": dict(operation.properties)})
        case DeleteNode():
            nodes.append({**_shown(operation.node), "properties": {}})
        case InsertEdge() | MergeEdge() | DeleteEdge():
            ends = {"from": _shown(operation.source), "to": _shown(operation.target)}
            edges.append({"type": operation.type, **ends, "properties": dict(operation.properties)})
    return json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False)


def _shown(node: NodeRef) -> dict[str, Any]:
    return {"label": node.label, "key": dict(node.key)}


def _ref(value: Mapping[str, Any], what: str) -> NodeRef:
    key = _properties(value["key"])
    if not key:
        raise UnusableAnswerError(f"{what} ({value['label'][:40]}) has no key")
    return NodeRef(label=value["label"], key=key)


def _properties(value: Mapping[str, Any]) -> dict[str, Value]:
    return {name: found for name, each in value.items() for found in _values(name, each)}


def _values(name: str, value: Any) -> Iterator[Value]:
    """Yield the value of a property; none for null or an empty list, which have no value."""
    if isinstance(value, bool | int | float | str):
        yield value
    elif isinstance(value, list) and all(isinstance(each, bool | int | float | str) for each in value):
        if value:
            yield tuple(value) if len({type(each) for each in value}) == 1 else tuple(map(str, value))
    elif value is not None:
        raise UnusableAnswerError(f"the value of {name[:40]} is no text, number, true, false or list of these")
