"""Types of a schema."""

from __future__ import annotations

from planners.stores.graph_schema import NodeType, PropertyKey, PropertyType


def key(name: str, type_: PropertyType = "string") -> PropertyKey:
    return PropertyKey(name=name, type=type_)


def node(name: str, *properties: PropertyKey) -> NodeType:
    return NodeType(name=name, key="key", properties=(key("key"), *properties))
