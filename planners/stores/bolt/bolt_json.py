"""Values of the driver as JSON values; each kind of graph says how its nodes and relationships look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planners.stores.bolt.bolt_rows import driver_text, is_driver_value
from planners.stores.result_rows import json_value

__all__ = ["bolt_json", "joined_labels"]


def bolt_json(value: Any, entity_json: Callable[[Any], dict[str, object]]) -> object:
    """Return a value as a JSON value.

    :param entity_json: makes the members of a node or a relationship, without its properties.
    """
    if isinstance(value, str | int | float | None):
        return json_value(value)
    from neo4j.graph import Node, Path, Relationship

    if isinstance(value, Node | Relationship):
        return {**entity_json(value), "properties": bolt_json(dict(value), entity_json)}
    if isinstance(value, Path):
        parts = {"nodes": value.nodes, "edges": value.relationships}
        return {name: [bolt_json(each, entity_json) for each in found] for name, found in parts.items()}
    if is_driver_value(value):
        return driver_text(value)
    if isinstance(value, Mapping):
        return {str(name): bolt_json(member, entity_json) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [bolt_json(member, entity_json) for member in value]
    return json_value(value)


def joined_labels(node: Any) -> str:
    """Return the labels of a node as one text, ``A:B``."""
    return ":".join(sorted(node.labels))
