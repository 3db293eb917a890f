"""The resources of an OData service: entity sets, singletons, and the collections that they contain directly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ingest.sources.json_values import as_list
from ingest.sources.odata.annotations import Annotations
from ingest.sources.odata.csdl import EntitySet, Navigation, Property, StructuredType
from ingest.sources.odata.fields import ServiceTypes, key_parameter
from ingest.sources.prose import name_words
from ontology.errors import DocumentError
from ontology.tool import Dependency, Parameter

__all__ = ["MAX_CONTAINED", "Resource", "find_resources", "key_dependencies", "key_name"]

#: Maximum number of contained navigation properties with tools, in one document.
MAX_CONTAINED = 2_000

_NO_TYPE = StructuredType(name="")
_GENERIC_KEYS = frozenset({"id", "key", "name", "code", "guid", "uuid", "number"})


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
    if key.lower() in _GENERIC_KEYS or key in taken:
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


class Resources(NamedTuple):
    """The resources of a service in its order, and the ids of those left out because of :data:`MAX_CONTAINED`."""

    found: list[Resource]
    left_out: list[str]


def find_resources(types: ServiceTypes) -> Resources:
    """Return the resources of a service."""
    found: list[Resource] = []
    left_out: list[str] = []
    count = 0
    for set_ in types.service.sets:
        owner = _entity_set(types, set_)
        found.append(owner)
        for contained in _contained(types, owner):
            count += 1
            if count > MAX_CONTAINED:
                left_out.append(contained.id)
            else:
                found.append(contained)
    return Resources(found, left_out)


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
    try:
        navigations = [n for n in types.navigations(owner.type) if n.contained]
        keys = [] if owner.single else types.keys(owner.type)
        inputs = tuple(key_parameter(types, key, key_name(key.name, owner.noun), owner.noun) for key in keys)
    except DocumentError:
        return  # the same error rejects the owner's tools
    template = Resource(
        id=owner.id,
        type="",
        name="",
        path=owner.path if owner.single else f"{owner.path}({_predicate(keys, inputs)})",
        owner=name_words(owner.name) if owner.single else owner.noun,
        inputs=inputs,
        depends_on=key_dependencies(owner, keys, [key.name for key in inputs], f"contained in {owner.id}"),
        bindings={},
        limits=(),
    )
    yield from (_contained_resource(types, owner, template, navigation) for navigation in navigations)


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
