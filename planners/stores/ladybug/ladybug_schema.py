"""The types of a Ladybug database: its tables, and the types that a property tells apart in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from planners.stores.cypher.cypher_tokens import quoted_text
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey, PropertyType, RelationshipType, TypeMark
from planners.stores.loading.loaded_tables import UNDIRECTED
from planners.stores.marked_types import marked_ends, marked_nodes
from planners.stores.read_rows import read_rows_of

if TYPE_CHECKING:
    from planners.stores.readable_graph import ReadableGraph

__all__ = ["ladybug_schema"]

_INTEGERS = ("INT", "UINT", "SERIAL")
_NUMBERS = ("DOUBLE", "FLOAT", "DECIMAL")
_DATES = ("DATE", "TIMESTAMP")
"""Beginnings of the names of Ladybug's types: INT8 to INT128, TIMESTAMP_NS and so on."""


async def ladybug_schema(graph: ReadableGraph, type_properties: Mapping[str, str]) -> GraphSchema:
    """Read the types.

    :param type_properties: label → the property that tells its types apart.
    """
    nodes: list[NodeType] = []
    relationships: list[RelationshipType] = []
    tables = await read_rows_of(graph, "CALL show_tables() RETURN name, type, comment")
    for name, *_ in sorted(row for row in tables if row[1] == "NODE"):
        found = await read_rows_of(graph, f"CALL table_info({quoted_text(name)}) RETURN name, type, `primary key`")
        key = next(column for column, _, is_key in found if is_key)
        node = NodeType(
            name=name, mark=TypeMark(label=name), key=key, properties=_properties([row[:2] for row in found])
        )
        nodes += await marked_nodes(graph, node, type_properties.get(name, ""))
    for name, _, comment in sorted(row for row in tables if row[1] == "REL"):
        found = await read_rows_of(graph, f"CALL table_info({quoted_text(name)}) RETURN name, type")
        pairs = await read_rows_of(
            graph, f"CALL show_connection({quoted_text(name)}) RETURN `source table name`, `destination table name`"
        )
        ends = await marked_ends(graph, name, [(source, target) for source, target in pairs], nodes)
        relationships.append(
            RelationshipType(name=name, ends=ends, properties=_properties(found), undirected=comment == UNDIRECTED)
        )
    return GraphSchema(nodes=tuple(sorted(nodes, key=lambda node: node.name)), relationships=tuple(relationships))


def _properties(columns: list[list[str]]) -> tuple[PropertyKey, ...]:
    """Return columns as properties; those of types that no operator compares (maps, blobs) are left out."""
    typed = [(name, _type(type_)) for name, type_ in columns]
    return tuple(PropertyKey(name=name, type=type_) for name, type_ in sorted(typed) if type_ is not None)


def _type(column: str) -> PropertyType | None:
    if column.endswith("]"):
        return "list"
    if column.startswith(_INTEGERS) and column != "INTERVAL":
        return "integer"
    if column.startswith(_NUMBERS):
        return "number"
    if column.startswith(_DATES):
        return "date"
    return {"STRING": "string", "UUID": "string", "BOOL": "boolean"}.get(column)  # type: ignore[return-value]
