"""The semantic catalog of a graph: what its types, relationships and properties mean, and the roles that properties play."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["TIME_ROLES", "NodeDescriptor", "PropertyDescriptor", "RelationshipDescriptor", "Role", "SemanticCatalog"]

Role: TypeAlias = Literal["", "key", "name", "year", "quarter", "month", "date", "plan or actual", "amount", "category"]
"""What operators that are not of one graph need to know of a property: ``name`` is what people call a node by; ``time_slice`` reads year,
quarter, month, date and ``plan or actual``; ``category`` has few values, which questions name ("planned", "scrap")."""
TIME_ROLES: tuple[Role, ...] = ("year", "quarter", "month", "date")


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyDescriptor:
    """Of a property.

    :param words: other words for it, in lower case.
    :param values: words for values: what a person says → the value as text.
    :param groups: words for several values at once: "writes" → the values of all that write.
    :param unit: of numbers: ``EUR``, ``kWh``; empty: none.
    """

    description: str = ""
    words: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    role: Role = ""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDescriptor:
    """Of a node type.

    :param words: other words for it, in lower case, singular.
    """

    description: str = ""
    words: tuple[str, ...] = ()
    properties: Mapping[str, PropertyDescriptor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipDescriptor:
    """Of a relationship type.

    :param forward: how a person says it from source to target: "is integrated in"; others with ``words``.
    :param backward: from target to source: "contains".
    """

    description: str = ""
    forward: tuple[str, ...] = ()
    backward: tuple[str, ...] = ()
    properties: Mapping[str, PropertyDescriptor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticCatalog:
    """Descriptors by names of the schema.

    :param fingerprint: of the schema that it was made for.
    :param accepted: a draft serves no question.
    :param about: the graph, in one or two sentences.
    """

    about: str = ""
    fingerprint: str = ""
    accepted: bool = False
    nodes: Mapping[str, NodeDescriptor] = field(default_factory=dict)
    relationships: Mapping[str, RelationshipDescriptor] = field(default_factory=dict)
