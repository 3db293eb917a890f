"""The resources of an OData service: entity sets, singletons, what they contain, and collections that they are linked with.

A contained entity may contain others, up to :data:`MAX_NESTING` levels. Entities below the first level, and those behind a
navigation property that does not contain them, are read only: these tools find and read them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ingest.sources.json_values import as_list
from ingest.sources.odata.annotations import Annotations
from ingest.sources.odata.csdl import EntitySet, Navigation, Property, StructuredType
from ingest.sources.odata.fields import ServiceTypes, key_parameter
from ingest.sources.odata.resource import GENERIC_KEYS, Resource, key_dependencies, key_name
from ingest.sources.prose import name_words
from ontology.errors import DocumentError
from ontology.tool import Parameter

__all__ = ["MAX_CONTAINED", "MAX_NESTING", "find_resources"]

#: Maximum number of navigation properties with tools, in one document; the deepest are left out first.
MAX_CONTAINED = 2_000
#: Maximum number of levels of containment below an entity set.
MAX_NESTING = 4

_NO_TYPE = StructuredType(name="")


class Resources(NamedTuple):
    """The resources of a service.

    :param found: entity sets and singletons, each before what it contains directly.
    :param nested: what is contained deeper, and linked collections.
    :param left_out: the ids of those left out because of :data:`MAX_CONTAINED`.
    """

    found: list[Resource]
    nested: list[Resource]
    left_out: list[str]


def find_resources(types: ServiceTypes) -> Resources:
    """Return the resources of a service.

    Below the first level, each navigation property of a type is followed once, where it is nearest to an entity set.
    """
    found: list[Resource] = []
    direct: list[Resource] = []
    left_out: list[str] = []
    for set_ in types.service.sets:
        owner = _entity_set(types, set_)
        found.append(owner)
        for contained in _contained(types, owner):
            if len(direct) < MAX_CONTAINED:
                direct.append(contained)
                found.append(contained)
            else:
                left_out.append(contained.id)
    nested = _nested(types, found, direct)
    taken = {resource.id for resource in found}
    kept = [resource for resource in nested if resource.id not in taken]
    room = MAX_CONTAINED - len(direct)
    return Resources(found, kept[:room], [*left_out, *(resource.id for resource in kept[room:])])


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


def _entity_set(types: ServiceTypes, set_: EntitySet) -> Resource:
    type_ = types.service.types.get(set_.type, _NO_TYPE)
    return Resource(
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


def _contained(types: ServiceTypes, owner: Resource) -> Iterator[Resource]:
    """Yield what an entity contains; nothing where a type is not defined, which rejects the tools of the owner."""
    try:
        navigations = [n for n in types.navigations(owner.type) if n.contained]
        template = _template(types, owner)
    except DocumentError:
        return
    yield from (_contained_resource(types, owner, template, navigation) for navigation in navigations)


def _linked(types: ServiceTypes, owner: Resource) -> Iterator[Resource]:
    """Yield the collections that an entity is linked with, without those that a filter on their own set finds as well."""
    try:
        many = [n for n in types.navigations(owner.type) if n.many and not n.contained]
        linked = [n for n in many if n.type in types.service.types and not _found_by_filter(types, owner, n)]
        template = _template(types, owner)
    except DocumentError:
        return
    for navigation in linked:
        resource = _contained_resource(types, owner, template, navigation)
        yield replace(resource, read_only=True, linked=True)


def _found_by_filter(types: ServiceTypes, owner: Resource, navigation: Navigation) -> bool:
    """Whether the target has its own set, and a property that both types have, a key of one of them, says what belongs together."""
    if navigation.name not in owner.bindings:
        return False
    keys = {key.name for type_ in (owner.type, navigation.type) for key in types.keys(type_)}
    own = {each.name for each in types.properties(owner.type)}
    shared = keys & own & {each.name for each in types.properties(navigation.type)}
    return bool(navigation.pairs) or any(name.lower() not in GENERIC_KEYS for name in shared)


def _template(types: ServiceTypes, owner: Resource) -> Resource:
    """The fields that all resources below an owner have in common."""
    keys = [] if owner.single else types.keys(owner.type)
    names = _input_names(owner, keys)
    inputs = tuple(key_parameter(types, key, name, owner.noun) for key, name in zip(keys, names, strict=True))
    named = tuple(replace(key, name=name, required=True) for key, name in zip(keys, names, strict=True))
    return Resource(
        id=owner.id,
        type="",
        name="",
        path=owner.path if owner.single else f"{owner.path}({_predicate(keys, inputs)})",
        owner=name_words(owner.name) if owner.single else owner.noun,
        inputs=(*owner.inputs, *inputs),
        owner_keys=(*owner.owner_keys, *named),
        depends_on=(
            *owner.depends_on,
            *key_dependencies(owner, keys, [key.name for key in inputs], f"contained in {owner.id}"),
        ),
        bindings={},
        limits=(),
    )


def _input_names(owner: Resource, keys: Sequence[Property]) -> list[str]:
    """The names of the owner's keys as inputs, other than those of its own owners."""
    taken = frozenset(parameter.name for parameter in owner.inputs)
    names: list[str] = []
    for key in keys:
        name = key_name(key.name, owner.noun, taken)
        names.append(f"{owner.name}_{key.name}" if name in taken else name)
    return names


def _contained_resource(types: ServiceTypes, owner: Resource, template: Resource, navigation: Navigation) -> Resource:
    """Return the resource of a contained navigation property; ``template`` has the fields common to all of ``owner``."""
    type_ = types.service.types.get(navigation.type, _NO_TYPE)
    described = navigation.annotations.get("Core.Description")
    return replace(
        template,
        id=f"{owner.id}_{navigation.name}",
        type=navigation.type,
        name=navigation.name,
        path=f"{template.path}/{navigation.name}",
        single=not navigation.many,
        label=type_.label,
        description=described if isinstance(described, str) else type_.description,
        limits=(*_restrictions(owner, navigation.name), navigation.annotations, type_.annotations),
    )


def _predicate(keys: Sequence[Property], inputs: Sequence[Parameter]) -> str:
    if len(keys) == 1:
        return f"{{{inputs[0].name}}}"
    return ",".join(f"{key.name}={{{parameter.name}}}" for key, parameter in zip(keys, inputs, strict=True))


def _restrictions(owner: Resource, navigation: str) -> Iterator[Annotations]:
    """Yield the owner's NavigationRestrictions on one navigation property, as annotations of that property."""
    for row in as_list(owner.capability("NavigationRestrictions", "RestrictedProperties")):
        if isinstance(row, Mapping) and row.get("NavigationProperty") == navigation:
            yield {f"Capabilities.{term}": value for term, value in row.items()}
