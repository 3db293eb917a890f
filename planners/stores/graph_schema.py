"""The seam of graphs that are only read, and their schema.

A *type* is what people mean by it. Most graphs have a label for each; some give every node one label and keep its type in a
property. ``TypeMark`` says which, so that whoever reads a schema sees types alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

from ontology.errors import NotFoundError
from ontology.json_values import canonical_text
from planners.stores.property_graph import QueryLimits, QueryRows, Value
from planners.stores.statements import quoted_name

__all__ = [
    "TYPE_PROPERTIES", "CypherDialect", "GraphSchema", "NodeType", "PropertyKey", "PropertyType", "ReadableGraph", "RelationshipEnds",
    "RelationshipType", "TypeMark", "marked_ends", "marked_nodes", "read_rows_of",
]  # fmt: skip

CypherDialect: TypeAlias = Literal["ladybug", "bolt"]
"""Which Cypher: that of Ladybug, whose paths are walks, or that of Neo4j, whose paths are trails."""
PropertyType: TypeAlias = Literal["string", "integer", "number", "boolean", "date", "list"]
TYPE_PROPERTIES: Mapping[str, str] = {"EgotoolsNode": "type"}
"""Label → the property that tells its types apart: that of the graphs that ingestion writes."""
_OWN_LIMITS = QueryLimits(rows=1_000_000, seconds=300.0)
"""Of queries about types, which give few rows, on graphs tenfold the largest of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyKey:
    """A property of a type, and the type of its values."""

    name: str
    type: PropertyType


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeMark:
    """How nodes of a type are known: a label of the engine, and the property that tells its types apart; empty where the label is the type."""

    label: str
    property: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeType:
    """A type of nodes.

    :param key: the property that identifies a node among those of its mark's label; empty where the engine's own identity must do.
    """

    name: str
    mark: TypeMark
    key: str = ""
    properties: tuple[PropertyKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipEnds:
    """One pair of node types, by name, that a type of relationships connects."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipType:
    """A type of relationships, by its name in the engine."""

    name: str
    ends: tuple[RelationshipEnds, ...]
    properties: tuple[PropertyKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSchema:
    """All types of a graph, sorted by name."""

    nodes: tuple[NodeType, ...]
    relationships: tuple[RelationshipType, ...]

    def node(self, name: str) -> NodeType:
        """Return a node type.

        :raises NotFoundError: when there is none of this name.
        """
        if found := next((each for each in self.nodes if each.name == name), None):
            return found
        raise _unknown("node type", name, self.nodes)

    def relationship(self, name: str) -> RelationshipType:
        """Return a relationship type.

        :raises NotFoundError: when there is none of this name.
        """
        if found := next((each for each in self.relationships if each.name == name), None):
            return found
        raise _unknown("relationship type", name, self.relationships)

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of names, marks, keys and types of values."""
        nodes = [
            [n.name, n.mark.label, n.mark.property, n.mark.value, n.key, [[p.name, p.type] for p in n.properties]]
            for n in self.nodes
        ]
        relationships = [
            [r.name, [[e.source, e.target] for e in r.ends], [[p.name, p.type] for p in r.properties]]
            for r in self.relationships
        ]
        return hashlib.sha256(canonical_text([nodes, relationships]).encode()).hexdigest()


def _unknown(what: str, name: str, types: Sequence[NodeType | RelationshipType]) -> NotFoundError:
    known = ", ".join(each.name for each in types[:40])
    return NotFoundError(f"the graph has no such {what}", subject=name, remedy=f"Use one of {known}")


class ReadableGraph(Protocol):
    """One graph, of any size, that belongs to somebody else. It is never written, whatever a query says. Concurrent calls are allowed.

    Each method raises StorageError when the engine cannot be reached, is locked, or failed.
    """

    @property
    def dialect(self) -> CypherDialect:
        """Which Cypher it is asked in."""
        ...

    async def schema(self) -> GraphSchema:
        """Return the types as the engine has them now: cheap enough to ask at the beginning of each question."""
        ...

    async def read(
        self, text: str, parameters: Mapping[str, Value | None] | None = None, limits: QueryLimits = ...
    ) -> QueryRows:
        """Run a query in a transaction that cannot write. What a model wrote passes ``allowed_cypher`` first: it is the caller's duty.

        A node as a value is ``{"id": …, "label": …, "properties": {…}}``, a relationship ``{"type", "source", "target", "properties"}``
        with ids of its ends, a path ``{"nodes": […], "edges": […]}``.

        :raises StatementError: when the query is refused, fails or takes too long.
        """
        ...


async def read_rows_of(graph: ReadableGraph, text: str) -> Sequence[Sequence[Any]]:
    """Return all rows of a query that the project itself asks.

    :raises StatementError: when it fails or takes too long.
    """
    return (await graph.read(text, None, _OWN_LIMITS)).rows


async def marked_nodes(graph: ReadableGraph, node: NodeType) -> list[NodeType]:
    """Return the types of a label: those that a property tells apart (:data:`TYPE_PROPERTIES`), else the label itself."""
    name = TYPE_PROPERTIES.get(node.mark.label, "")
    if name not in {each.name for each in node.properties}:
        return [node]
    label, quoted = (quoted_name(text, graph.dialect) for text in (node.mark.label, name))
    found = await read_rows_of(graph, f"MATCH (n:{label}) RETURN DISTINCT n.{quoted}")
    rest = tuple(each for each in node.properties if each.name != name)
    return [
        replace(node, name=value, mark=replace(node.mark, property=name, value=value), properties=rest)
        for (value,) in found
        if isinstance(value, str)
    ]


async def marked_ends(
    graph: ReadableGraph, type_: str, pairs: Sequence[tuple[str, str]], nodes: Sequence[NodeType]
) -> tuple[RelationshipEnds, ...]:
    """Return the pairs of types that relationships connect, from the pairs of their labels."""
    properties = {node.mark.label: node.mark.property for node in nodes}
    found: set[tuple[str, str]] = set()
    for source, target in pairs:
        marks = (("a", properties.get(source, "")), ("b", properties.get(target, "")))
        if not any(mark for _, mark in marks):
            found.add((source, target))
            continue
        names = [quoted_name(text, graph.dialect) for text in (source, type_, target)]
        shown = ", ".join(f"{end}.{quoted_name(mark, graph.dialect)}" if mark else "''" for end, mark in marks)
        text = f"MATCH (a:{names[0]})-[:{names[1]}]->(b:{names[2]}) RETURN DISTINCT {shown}"
        rows = await read_rows_of(graph, text)
        found |= {(row[0] or source, row[1] or target) for row in rows if None not in row}
    return tuple(RelationshipEnds(source=source, target=target) for source, target in sorted(found))
