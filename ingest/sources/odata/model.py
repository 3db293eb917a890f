"""The data model of an OData service description: types, entity sets, operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Annotations: TypeAlias = Mapping[str, Any]
"""Map from term to value; a term is vocabulary and name: ``Core.Description``, ``Capabilities.InsertRestrictions``."""


def item_type(name: str) -> str:
    """Return the item type of a collection type: ``X`` for ``Collection(X)``; another type is returned unchanged."""
    return name.removeprefix("Collection(").removesuffix(")").strip()


def is_collection(name: str) -> bool:
    """Whether a type is ``Collection(X)``."""
    return name.startswith("Collection(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A property of a type, or a parameter of an operation.

    :param type: qualified, ``Edm.String``, ``Collection(NS.Address)``.
    :param required: whether creation of the entity, or the call, needs a value.
    :param nullable: whether the value may be null; of a collection: whether its items may.
    :param max_length: maximum number of characters or bytes; None without a limit.
    :param precision: maximum number of decimal digits; None without a limit.
    :param scale: maximum number of digits after the point; None without a limit.
    :param default: the value that an absent property has, as text; None without one.
    :param pattern: regular expression of a value (``Validation.Pattern``), or empty.
    """

    name: str
    type: str
    required: bool = False
    description: str = ""
    creatable: bool = True
    updatable: bool = True
    filterable: bool = True
    nullable: bool = True
    max_length: int | None = None
    precision: int | None = None
    scale: int | None = None
    default: str | None = None
    pattern: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Navigation:
    """A navigation property: a link from one entity to another.

    :param type: qualified name of the target type.
    :param many: whether the target is a collection.
    :param contained: whether the target entities exist only inside this entity (``ContainsTarget``).
    :param pairs: (own property, property of the target) that the referential constraint makes equal.
    """

    name: str
    type: str
    many: bool = False
    contained: bool = False
    pairs: tuple[tuple[str, str], ...] = ()
    annotations: Annotations = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredType:
    """An entity type or a complex type, without inherited members."""

    name: str
    base: str = ""
    keys: tuple[str, ...] = ()
    properties: tuple[Property, ...] = ()
    navigations: tuple[Navigation, ...] = ()
    label: str = ""
    description: str = ""
    annotations: Annotations = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitySet:
    """An entity set or a singleton.

    :param bindings: map from navigation property to its target set.
    """

    name: str
    type: str
    singleton: bool = False
    label: str = ""
    description: str = ""
    bindings: Mapping[str, str] = field(default_factory=dict)
    annotations: Annotations = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ODataOperation:
    """A function import, a function or an action.

    :param binding: type of the binding parameter (the first) of a bound operation, or empty.
    :param returns: return type, or empty.
    :param qualified: the name with its namespace, by which a bound operation is called; empty for a function import of v2.
    """

    name: str
    method: str
    qualified: str = ""
    parameters: tuple[Property, ...] = ()
    binding: str = ""
    returns: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The content of one EDMX document.

    :param namespace: of the schema that has the entity container, else of the first schema.
    :param enums: map from qualified enum type to its member names.
    :param flags: qualified enum types whose values may be combined (``IsFlags``).
    :param aliases: map from qualified type definition to its underlying type.
    :param nameless: number of elements that are left out because they have no ``Name``.
    :param version: ``v2`` (also of OData 1 and 3) or ``v4``.
    :param servers: base URLs that the document names; usually none.
    """

    namespace: str
    types: Mapping[str, StructuredType]
    enums: Mapping[str, tuple[str, ...]]
    flags: frozenset[str]
    aliases: Mapping[str, str]
    sets: tuple[EntitySet, ...]
    operations: tuple[ODataOperation, ...]
    nameless: int
    version: str
    servers: tuple[str, ...]
