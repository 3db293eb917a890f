"""The schema of a property graph: types of nodes and relationships, their properties, and what a census counted.

A *type* is what people mean by it. Most graphs have a label for each; some give every node one label and keep its type in a
property. ``TypeMark`` says which, so that whoever reads a schema sees types alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from ontology.errors import NotFoundError
from ontology.json_object import canonical_text
from planners.stores.property_graph import Scalar

__all__ = [
    "Degrees",
    "GraphSchema",
    "NodeType",
    "PropertyKey",
    "PropertyType",
    "RelationshipEnds",
    "RelationshipType",
    "TypeMark",
]

PropertyType: TypeAlias = Literal["string", "integer", "number", "boolean", "date", "list"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyKey:
    """A property of a type.

    :param count: nodes or relationships that have a value.
    :param distinct: different values; None where they were not counted.
    :param least: the smallest value of numbers, dates and strings; None where there is none.
    :param greatest: the largest, likewise.
    :param samples: some values, sorted: all of them where they are few.
    """

    name: str
    type: PropertyType
    count: int = 0
    distinct: int | None = None
    least: Scalar | None = None
    greatest: Scalar | None = None
    samples: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeMark:
    """How the nodes of a type are known.

    :param label: of the engine.
    :param property: that tells the types of one label apart; empty where the label is the type.
    :param value: of that property.
    """

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
    count: int = 0
    properties: tuple[PropertyKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Degrees:
    """How many relationships the nodes of one end have.

    :param nodes: that have any.
    """

    nodes: int
    median: int
    greatest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipEnds:
    """One pair of types that a type of relationships connects.

    :param source: name of a node type.
    :param target: name of a node type.
    """

    source: str
    target: str
    count: int = 0
    outgoing: Degrees | None = None
    incoming: Degrees | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipType:
    """A type of relationships; its name is that of the engine.

    :param undirected: whether they have no direction: which end is the source then says nothing.
    """

    name: str
    ends: tuple[RelationshipEnds, ...]
    count: int = 0
    properties: tuple[PropertyKey, ...] = ()
    undirected: bool = False


_T = TypeVar("_T", NodeType, RelationshipType)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSchema:
    """All types of a graph, sorted by name."""

    nodes: tuple[NodeType, ...]
    relationships: tuple[RelationshipType, ...]

    def node(self, name: str) -> NodeType:
        """Return a node type.

        :raises NotFoundError: when there is none of this name.
        """
        return _named(self.nodes, name, "node type")

    def relationship(self, name: str) -> RelationshipType:
        """Return a relationship type.

        :raises NotFoundError: when there is none of this name.
        """
        return _named(self.relationships, name, "relationship type")

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of names, marks, keys and types of values; counts and samples do not change it."""
        nodes = [
            [n.name, n.mark.label, n.mark.property, n.mark.value, n.key, [[p.name, p.type] for p in n.properties]]
            for n in self.nodes
        ]
        relationships = [
            [r.name, [[e.source, e.target] for e in r.ends], [[p.name, p.type] for p in r.properties]]
            for r in self.relationships
        ]
        return hashlib.sha256(canonical_text([nodes, relationships]).encode()).hexdigest()


def _named(types: Sequence[_T], name: str, what: str) -> _T:
    for each in types:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in types[:40])
    raise NotFoundError(f"the graph has no such {what}", subject=name, remedy=f"Use one of {known}")
