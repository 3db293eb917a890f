"""Types of a schema as a census gives them, with few samples."""

from __future__ import annotations

from planners.stores.graph_schema import NodeType, PropertyKey, PropertyType, TypeMark


def key(name: str, type_: PropertyType = "string", **seen: object) -> PropertyKey:
    return PropertyKey(name=name, type=type_, **seen)  # type: ignore[arg-type]


def node(name: str, *properties: PropertyKey, count: int = 100) -> NodeType:
    return NodeType(name=name, mark=TypeMark(label=name), key="key", count=count, properties=(key("key"), *properties))
