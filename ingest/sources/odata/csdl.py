"""What an OData service says of itself, as small values: types, sets, operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.sources.odata.annotations import Notes

__all__ = ["EntitySet", "Navigation", "Operation", "Property", "Service", "StructuredType"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A property of a type, or a parameter of an operation.

    :param type: qualified, ``Edm.String``, ``Collection(NS.Address)``.
    :param required: whether a value must be given when it is created or called.
    """

    name: str
    type: str
    required: bool = False
    description: str = ""
    creatable: bool = True
    updatable: bool = True
    filterable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Navigation:
    """A navigation property: the road from one entity to another.

    :param type: qualified name of the type it leads to.
    :param many: whether it leads to a collection.
    :param contained: whether its entities live under this one and nowhere else.
    :param pairs: (own property, property of the other end) that the referential constraint makes equal.
    """

    name: str
    type: str
    many: bool = False
    contained: bool = False
    pairs: tuple[tuple[str, str], ...] = ()
    notes: Notes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredType:
    """An entity type or a complex type, as written: what it inherits is not in it."""

    name: str
    base: str = ""
    keys: tuple[str, ...] = ()
    properties: tuple[Property, ...] = ()
    navigations: tuple[Navigation, ...] = ()
    label: str = ""
    description: str = ""
    notes: Notes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitySet:
    """An entity set or a singleton.

    :param bindings: target set by the name of a navigation property.
    """

    name: str
    type: str
    singleton: bool = False
    label: str = ""
    description: str = ""
    bindings: Mapping[str, str] = field(default_factory=dict)
    notes: Notes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A function import, a function or an action.

    :param binding: type of the first parameter of a bound operation, or empty.
    :param returns: type of the answer, or empty.
    """

    name: str
    method: str
    parameters: tuple[Property, ...] = ()
    binding: str = ""
    returns: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """All that one EDMX document says.

    :param namespace: of the schema that has the entity container, else of the first schema.
    :param enums: member names by qualified enum type.
    :param aliases: underlying type by qualified type definition.
    :param nameless: how many elements were passed over because they have no ``Name``.
    """

    namespace: str
    types: Mapping[str, StructuredType]
    enums: Mapping[str, tuple[str, ...]]
    aliases: Mapping[str, str]
    sets: tuple[EntitySet, ...]
    operations: tuple[Operation, ...]
    nameless: int = 0
