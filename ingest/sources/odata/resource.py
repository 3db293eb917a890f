"""A resource of an OData service: a collection of entities, or a single entity, with its own path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.sources.odata.annotations import Annotations
from ingest.sources.odata.csdl import Property
from ingest.sources.prose import name_words
from ontology.tool import Dependency, Parameter

__all__ = ["GENERIC_KEYS", "Resource", "key_dependencies", "key_name"]

GENERIC_KEYS = frozenset({"id", "key", "name", "code", "guid", "uuid", "number"})
"""Names of keys, in lower case, that do not say of what they are the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A collection of entities, or a single entity, with its own path.

    :param id: unique in the service: ``users``, ``users_messages``.
    :param type: qualified type of the entities.
    :param single: whether it is a single entity, without a key.
    :param name: last part of the path.
    :param label: its label in the document, or empty.
    :param owner: name of the entity that contains it (``user``), or empty.
    :param inputs: the owner's keys.
    :param depends_on: dependencies on the tools that return the owner's keys.
    :param bindings: map from navigation property to its target.
    :param limits: capability annotations, the most specific first.
    :param owner_keys: the owner's keys as properties, under the names of ``inputs``.
    :param read_only: whether it has tools that find and read only.
    :param linked: whether it is behind a navigation property that does not contain it: its entities have no path below it.
    """

    id: str
    type: str
    name: str
    path: str
    single: bool = False
    label: str = ""
    description: str = ""
    owner: str = ""
    inputs: tuple[Parameter, ...] = ()
    depends_on: tuple[Dependency, ...] = ()
    bindings: Mapping[str, str]
    limits: tuple[Annotations, ...]
    owner_keys: tuple[Property, ...] = ()
    read_only: bool = False
    linked: bool = False

    @property
    def noun(self) -> str:
        """The name of one entity in words: *purchase order item*."""
        short = self.type.rpartition(".")[2]
        return name_words(self.name if short.removesuffix("Type") == self.name else short)

    def allows(self, restrictions: str, key: str) -> bool:
        """Whether no annotation forbids a capability: ``allows("InsertRestrictions", "Insertable")``."""
        return self.capability(restrictions, key) in (None, True)

    def capability(self, term: str, key: str = "") -> Any:
        """Return the most specific value of a capability term, or of one of its properties; None without an annotation."""
        for terms in self.limits:
            value = terms.get(f"Capabilities.{term}")
            if key:
                value = value.get(key) if isinstance(value, Mapping) else None
            if value is not None:
                return value
        return None


def key_name(key: str, noun: str, taken: frozenset[str] = frozenset()) -> str:
    """Return the input name for an entity's key; a generic key (``id``) gets the entity's name as prefix."""
    if key.lower() in GENERIC_KEYS or key in taken:
        return f"{noun.replace(' ', '_')}_{key}"
    return key


def key_dependencies(
    resource: Resource, keys: Sequence[Property], inputs: Sequence[str], reason: str
) -> tuple[Dependency, ...]:
    """Return one dependency for each key: the query tool of a resource returns the value of an input."""
    return tuple(
        Dependency(tool=f"query_{resource.id}", parameter=name, output=f"value[].{key.name}", reason=reason)
        for key, name in zip(keys, inputs, strict=True)
    )
