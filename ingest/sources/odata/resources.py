"""The resources of an OData service: entity sets, singletons, what they contain, and collections that they are linked with.

A contained entity may contain others, up to :data:`MAX_NESTING` levels. Entities below the first level, and those behind a
navigation property that does not contain them, are read only: their tools find and read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ingest.sources.odata.types import Annotations, Navigation, Property, ServiceTypes, StructuredType
from ingest.sources.prose import name_words
from ingest.sources.source import as_list
from ontology.errors import DocumentError
from ontology.tool import Dependency

# Names of keys, in lower case, that do not say of what they are the key
GENERIC_KEYS = frozenset({"id", "key", "name", "code", "guid", "uuid", "number"})
#: Maximum number of navigation properties with tools, in one document; the deepest are left out first.
MAX_CONTAINED = 2_000
#: Maximum number of levels of containment below an entity set.
MAX_NESTING = 4

_NO_TYPE = StructuredType(name="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A collection of entities, or a single entity, with its own path."""

    id: str  # unique in the service: ``users``, ``users_messages``
    type: str  # qualified type of the entities
    name: str  # last part of the path
    path: str
    single: bool = False  # whether it is a single entity, without a key
    label: str = ""  # its label in the document, or empty
    description: str = ""
    owner: str = ""  # name of the entity that contains it (``user``), or empty
    owner_keys: tuple[Property, ...] = ()  # the owner's keys, under the names of the inputs
    depends_on: tuple[Dependency, ...] = ()  # dependencies on the tools that return the owner's keys
    bindings: Mapping[str, str]  # map from navigation property to its target
    limits: tuple[Annotations, ...]  # capability annotations, the most specific first
    read_only: bool = False  # whether it has tools that find and read only
    linked: bool = False  # whether it is behind a link that does not contain it: its entities have no path below it

    @property
    def noun(self) -> str:
        """The name of one entity in words: *purchase order item*."""
        short = self.type.rpartition(".")[2]
        return name_words(self.name if short.removesuffix("Type") == self.name else short)

    @property
    def taken(self) -> frozenset[str]:
        """The names of the inputs that its path has already."""
        return frozenset(key.name for key in self.owner_keys)

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


def entity_noun(type_: str) -> str:
    """The name of one entity of a qualified type in words."""
    return name_words(type_.rpartition(".")[2].removesuffix("Type"))


def key_name(key: str, noun: str, taken: frozenset[str]) -> str:
    """Return the input name for an entity's key; a generic key (``id``) gets the entity's name as prefix."""
    if key.lower() in GENERIC_KEYS or key in taken:
        return f"{noun.replace(' ', '_')}_{key}"
    return key


def key_path(path: str, keys: Sequence[str], inputs: Sequence[str]) -> str:
    """The path of one entity of a collection by its keys, which the named inputs have."""
    if len(keys) == 1:
        return f"{path}({{{inputs[0]}}})"
    return f"{path}({','.join(f'{key}={{{name}}}' for key, name in zip(keys, inputs, strict=True))})"


def key_dependencies(
    resource: Resource, keys: Sequence[Property], inputs: Sequence[str], reason: str
) -> tuple[Dependency, ...]:
    """Return one dependency for each key: the query tool of a resource returns the value of an input."""
    return tuple(
        Dependency(tool=f"query_{resource.id}", parameter=name, output=f"value[].{key.name}", reason=reason)
        for key, name in zip(keys, inputs, strict=True)
    )


def find_resources(types: ServiceTypes) -> tuple[list[Resource], list[Resource], list[str]]:
    """Return entity sets and singletons, each before what it contains directly; linked collections and what is
    contained deeper; and the ids of those left out because of :data:`MAX_CONTAINED`. Below the first level, each
    navigation property of a type is followed once, where it is nearest to an entity set."""
    found: list[Resource] = []
    direct: list[Resource] = []
    left_out: list[str] = []
    for set_ in types.service.sets:
        type_ = types.service.types.get(set_.type, _NO_TYPE)
        owner = Resource(
            id=set_.name,
            type=set_.type,
            name=set_.name,
            path=f"/{set_.name}",
            single=set_.singleton,
            label=set_.label or type_.label,
            description=set_.description or type_.description,
            bindings={path.rpartition("/")[2]: target for path, target in set_.bindings.items()},
            limits=(set_.annotations, type_.annotations),
        )
        contained = _contained(types, owner)
        room = MAX_CONTAINED - len(direct)
        direct += contained[:room]
        found += [owner, *contained[:room]]
        left_out += [each.id for each in contained[room:]]
    taken = {resource.id for resource in found}
    nested = [resource for resource in _nested(types, found, direct) if resource.id not in taken]
    room = MAX_CONTAINED - len(direct)
    return found, nested[:room], [*left_out, *(resource.id for resource in nested[room:])]


def _nested(types: ServiceTypes, found: Sequence[Resource], level: Sequence[Resource]) -> list[Resource]:
    """Return linked collections, then what the resources of a level contain, level by level."""
    nested: dict[str, Resource] = {}
    followed = {(owner.type, link.name) for owner in found if not owner.owner for link in _contained(types, owner)}
    for owner in found:
        for resource in _linked(types, owner):
            step = (owner.type, resource.name)
            if not owner.owner or step not in followed:
                followed.add(step)
                nested[resource.id] = resource
    for _ in range(MAX_NESTING - 1):
        below: list[Resource] = []
        for owner in level:
            for resource in _contained(types, owner):
                step = (owner.type, resource.name)
                if step not in followed:
                    followed.add(step)
                    below.append(replace(resource, read_only=True))
        nested |= {resource.id: resource for resource in below}
        level = below
    return list(nested.values())


def _contained(types: ServiceTypes, owner: Resource) -> list[Resource]:
    """What an entity contains; nothing where a type is not defined, which rejects the tools of the owner."""
    try:
        return _below(types, owner, [each for each in types.navigations(owner.type) if each.contained])
    except DocumentError:
        return []


def _linked(types: ServiceTypes, owner: Resource) -> list[Resource]:
    """The collections that an entity is linked with, without those that a filter on their own set finds as well, by a key in both types."""
    links: list[Navigation] = []
    try:
        own = {each.name for each in types.properties(owner.type)}
        for link in types.navigations(owner.type):
            if not link.many or link.contained or link.type not in types.service.types:
                continue
            if link.name in owner.bindings:
                keys = {key.name for type_ in (owner.type, link.type) for key in types.keys(type_)}
                shared = keys & own & {each.name for each in types.properties(link.type)}
                if link.pairs or any(name.lower() not in GENERIC_KEYS for name in shared):
                    continue
            links.append(link)
        return [replace(resource, read_only=True, linked=True) for resource in _below(types, owner, links)]
    except DocumentError:
        return []


def _below(types: ServiceTypes, owner: Resource, navigations: Sequence[Navigation]) -> list[Resource]:
    keys = [] if owner.single else types.keys(owner.type)
    names = [key_name(key.name, owner.noun, owner.taken) for key in keys]
    names = [f"{owner.name}_{key.name}" if name in owner.taken else name for key, name in zip(keys, names, strict=True)]
    path = owner.path if owner.single else key_path(owner.path, [key.name for key in keys], names)
    for key in keys:
        types.value(key)  # raises for a type that is not defined
    owner_keys = tuple(
        replace(key, name=name, required=True, description=key.description or f"{key.name} of the {owner.noun}")
        for key, name in zip(keys, names, strict=True)
    )
    found: list[Resource] = []
    for navigation in navigations:
        type_ = types.service.types.get(navigation.type, _NO_TYPE)
        described = navigation.annotations.get("Core.Description")
        rows = as_list(owner.capability("NavigationRestrictions", "RestrictedProperties"))
        own_rows = (
            row for row in rows if isinstance(row, Mapping) and row.get("NavigationProperty") == navigation.name
        )
        restricted = [{f"Capabilities.{term}": value for term, value in row.items()} for row in own_rows]
        resource = Resource(
            id=f"{owner.id}_{navigation.name}",
            type=navigation.type,
            name=navigation.name,
            path=f"{path}/{navigation.name}",
            single=not navigation.many,
            label=type_.label,
            description=described if isinstance(described, str) else type_.description,
            owner=name_words(owner.name) if owner.single else owner.noun,
            owner_keys=(*owner.owner_keys, *owner_keys),
            depends_on=(*owner.depends_on, *key_dependencies(owner, keys, names, f"contained in {owner.id}")),
            bindings={},
            limits=(*restricted, navigation.annotations, type_.annotations),
        )
        found.append(resource)
    return found
