"""The seam of graphs that are only read, and their schema: a label of the engine is a type of nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from ontology.json_values import canonical_text
from planners.stores.property_graph import QueryLimits, QueryRows, Value

# Which Cypher: that of Ladybug, whose paths are walks, or that of Neo4j, whose paths are trails
CypherDialect: TypeAlias = Literal["ladybug", "bolt"]
PropertyType: TypeAlias = Literal["string", "integer", "number", "boolean", "date", "list"]
# Of queries about types, which give few rows, on graphs tenfold the largest of ours
_OWN_LIMITS = QueryLimits(rows=1_000_000, seconds=300.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyKey:
    """A property of a type, and the type of its values."""

    name: str
    type: PropertyType


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeType:
    """A type of nodes, by its label in the engine."""

    name: str
    key: str = ""  # the property that identifies a node of the type; empty where the engine's own identity must do
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

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of names, keys and types of values."""
        nodes = [[n.name, n.key, [[p.name, p.type] for p in n.properties]] for n in self.nodes]
        relationships = [
            [r.name, [[e.source, e.target] for e in r.ends], [[p.name, p.type] for p in r.properties]]
            for r in self.relationships
        ]
        return hashlib.sha256(canonical_text([nodes, relationships]).encode()).hexdigest()


class ReadableGraph(Protocol):
    """One graph, of any size, that belongs to somebody else. It is never written, whatever a query says. Concurrent calls are allowed.

    Each method raises StorageError when the engine cannot be reached, is locked, or failed.
    """

    @property
    def dialect(self) -> CypherDialect:
        """Which Cypher it is asked in."""
        ...

    async def schema(self) -> GraphSchema:
        """Return the types as the engine has them when they are first asked for."""
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
    """Return all rows of a query that the project itself asks; a StatementError when it fails or takes too long."""
    return (await graph.read(text, None, _OWN_LIMITS)).rows
