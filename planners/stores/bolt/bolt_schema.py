"""The types of a database behind Bolt: its labels, what connects them, and properties with the types of their values."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ontology.errors import StatementError
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey, PropertyType, RelationshipType, TypeMark
from planners.stores.marked_types import marked_ends, marked_nodes
from planners.stores.read_rows import read_rows_of

if TYPE_CHECKING:
    from planners.stores.readable_graph import ReadableGraph

__all__ = ["bolt_schema", "bolt_shape"]

_NODES = (
    "CALL db.schema.nodeTypeProperties() YIELD nodeLabels, propertyName, propertyTypes "
    "RETURN nodeLabels, propertyName, propertyTypes"
)
_RELATIONSHIPS = (
    "CALL db.schema.relTypeProperties() YIELD relType, propertyName, propertyTypes "
    "RETURN relType, propertyName, propertyTypes"
)
_PAIRS = "MATCH (a)-[r]->(b) UNWIND labels(a) AS s UNWIND labels(b) AS t RETURN DISTINCT type(r), s, t"
_KEYS = (
    "SHOW CONSTRAINTS YIELD type, labelsOrTypes, properties WHERE type IN ['UNIQUENESS', 'NODE_KEY'] "
    "RETURN labelsOrTypes[0], properties"
)
_SHAPE = (
    "MATCH (n) RETURN count(n)",
    "MATCH ()-[r]->() RETURN count(r)",
    "CALL db.labels() YIELD label RETURN label ORDER BY label",
    "CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType ORDER BY relationshipType",
    "CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey ORDER BY propertyKey",
)
"""What a server answers from its own counters, whatever the size of the graph."""
_TYPES: Mapping[str, PropertyType] = {
    "String": "string",
    "Long": "integer",
    "Double": "number",
    "Boolean": "boolean",
    "Date": "date",
    "DateTime": "date",
    "LocalDateTime": "date",
}
"""Names of types that Neo4j's own procedures give, without ``Array``; others have no operator."""


async def bolt_shape(graph: ReadableGraph) -> tuple[object, ...]:
    """Return what changes when types or properties are added, or nodes; it takes no scan."""
    return tuple([await read_rows_of(graph, text) for text in _SHAPE])


async def bolt_schema(graph: ReadableGraph, type_properties: Mapping[str, str]) -> GraphSchema:
    """Read the types: the server goes through all nodes and relationships for it.

    :param type_properties: label → the property that tells its types apart.
    """
    of_nodes: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for labels, name, types in await read_rows_of(graph, _NODES):
        for label in labels:
            of_nodes[label][name or ""] |= set(types or ())
    of_relationships: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for type_, name, types in await read_rows_of(graph, _RELATIONSHIPS):
        of_relationships[type_[2:-1].replace("``", "`")][name or ""] |= set(types or ())
    keys = await _keys(graph)
    nodes: list[NodeType] = []
    for label, properties in sorted(of_nodes.items()):
        node = NodeType(
            name=label, mark=TypeMark(label=label), key=keys.get(label, ""), properties=_properties(properties)
        )
        nodes += await marked_nodes(graph, node, type_properties.get(label, ""))
    pairs: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for type_, source, target in await read_rows_of(graph, _PAIRS):
        pairs[type_].append((source, target))
    relationships = [
        RelationshipType(
            name=type_,
            ends=await marked_ends(graph, type_, found, nodes),
            properties=_properties(of_relationships.get(type_, {})),
        )
        for type_, found in sorted(pairs.items())
    ]
    return GraphSchema(nodes=tuple(sorted(nodes, key=lambda node: node.name)), relationships=tuple(relationships))


async def _keys(graph: ReadableGraph) -> dict[str, str]:
    """Return the property that a constraint makes unique, by label; nothing where the user may not see constraints."""
    with contextlib.suppress(StatementError):
        rows = await read_rows_of(graph, _KEYS)
        return {label: properties[0] for label, properties in sorted(rows, reverse=True) if len(properties) == 1}
    return {}


def _properties(found: Mapping[str, Iterable[str]]) -> tuple[PropertyKey, ...]:
    """Return the properties with types of operators; those of others (points, durations) are left out."""
    typed = [(name, _type(set(types))) for name, types in sorted(found.items()) if name]
    return tuple(PropertyKey(name=name, type=type_) for name, type_ in typed if type_ is not None)


def _type(names: set[str]) -> PropertyType | None:
    """Return the one type of values; of several the one that holds them all."""
    kinds = {"list" if name.endswith("Array") else _TYPES.get(name) for name in names}
    if len(kinds) == 1:
        return kinds.pop()
    if None in kinds:
        return None
    return "number" if kinds == {"integer", "number"} else "string"
