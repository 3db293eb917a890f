"""The resources of an OData service: entity sets, singletons, and the collections they contain one level below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ingest.sources.json_values import as_list
from ingest.sources.odata.annotations import Notes
from ingest.sources.odata.csdl import EntitySet, Navigation, Property, StructuredType
from ingest.sources.odata.fields import ServiceTypes, key_parameter
from ingest.sources.prose import name_words
from ontology.errors import DocumentError
from ontology.tool import Dependency, Parameter

__all__ = ["MAX_CONTAINED", "Resource", "find_resources", "key_dependencies", "key_name"]

#: Contained navigation properties that are given tools, over the whole document.
MAX_CONTAINED = 2_000

_NO_TYPE = StructuredType(name="")
_VAGUE_KEYS = frozenset({"id", "key", "name", "code", "guid", "uuid", "number"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A collection of entities, or one entity, under a path of its own.

    :param id: unique in the service: ``users``, ``users_messages``.
    :param type: qualified type of the entities.
    :param single: whether it is one entity, without a key.
    :param name: last part of the path.
    :param label: the document's name for it.
    :param owner: words for the entity that contains it (``user``), or empty.
    :param inputs: the owner's keys.
    :param depends_on: the tools that give the owner's keys.
    :param bindings: target by the name of a navigation property.
    :param limits: annotations that allow and forbid, the nearest first.
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
    limits: tuple[Notes, ...]

    @property
    def noun(self) -> str:
        """The name of one of its entities in words: *purchase order item*."""
        short = self.type.rpartition(".")[2]
        return name_words(self.name if short.removesuffix("Type") == self.name else short)

    def allows(self, restrictions: str, key: str) -> bool:
        """Whether the annotations do not forbid something: ``allows("InsertRestrictions", "Insertable")``."""
        return self.capability(restrictions, key) in (None, True)

    def capability(self, term: str, key: str = "") -> Any:
        """The nearest value of a capability term, or of one of its properties; None where there is none."""
        for notes in self.limits:
            value = notes.get(f"Capabilities.{term}")
            if key:
                value = value.get(key) if isinstance(value, Mapping) else None
            if value is not None:
                return value
        return None


def key_name(key: str, noun: str, taken: frozenset[str] = frozenset()) -> str:
    """The name of an input that carries an entity's key: a vague key (``id``) has the entity put before it."""
    if key.lower() in _VAGUE_KEYS or key in taken:
        return f"{noun.replace(' ', '_')}_{key}"
    return key


def key_dependencies(
    resource: Resource, keys: Sequence[Property], inputs: Sequence[str], reason: str
) -> tuple[Dependency, ...]:
    """One dependency for each key: the tool that queries a resource gives the value of an input."""
    return tuple(
        Dependency(tool=f"query_{resource.id}", parameter=name, output=f"value[].{key.name}", reason=reason)
        for key, name in zip(keys, inputs, strict=True)
    )


class Resources(NamedTuple):
    """The resources of a service in its order, and the ids of contained ones beyond :data:`MAX_CONTAINED`."""

    found: list[Resource]
    beyond: list[str]


def find_resources(types: ServiceTypes) -> Resources:
    """The resources of a service."""
    found: list[Resource] = []
    beyond: list[str] = []
    contained = 0
    for set_ in types.service.sets:
        top = _top(types, set_)
        found.append(top)
        for below in _contained(types, top):
            contained += 1
            if contained > MAX_CONTAINED:
                beyond.append(below.id)
            else:
                found.append(below)
    return Resources(found, beyond)


def _top(types: ServiceTypes, set_: EntitySet) -> Resource:
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
        limits=(set_.notes, type_.notes),
    )


def _contained(types: ServiceTypes, top: Resource) -> Iterator[Resource]:
    try:
        navigations = [n for n in types.navigations(top.type) if n.contained]
        keys = [] if top.single else types.keys(top.type)
        inputs = tuple(key_parameter(types, key, key_name(key.name, top.noun), top.noun) for key in keys)
    except DocumentError:
        return  # the tools of the owner itself are rejected for it
    bare = Resource(
        id=top.id,
        type="",
        name="",
        path=top.path if top.single else f"{top.path}({_predicate(keys, inputs)})",
        owner=name_words(top.name) if top.single else top.noun,
        inputs=inputs,
        depends_on=key_dependencies(top, keys, [each.name for each in inputs], f"contained in {top.id}"),
        bindings={},
        limits=(),
    )
    yield from (_below(types, top, bare, navigation) for navigation in navigations)


def _below(types: ServiceTypes, top: Resource, bare: Resource, navigation: Navigation) -> Resource:
    """What one navigation property contains.

    :param bare: the fields that all contained resources of ``top`` share.
    """
    type_ = types.service.types.get(navigation.type, _NO_TYPE)
    described = navigation.notes.get("Core.Description")
    return replace(
        bare,
        id=f"{top.id}_{navigation.name}",
        type=navigation.type,
        name=navigation.name,
        path=f"{bare.path}/{navigation.name}",
        single=not navigation.many,
        label=type_.label,
        description=described if isinstance(described, str) else type_.description,
        limits=(*_restrictions(top, navigation.name), navigation.notes, type_.notes),
    )


def _predicate(keys: Sequence[Property], inputs: Sequence[Parameter]) -> str:
    if len(keys) == 1:
        return f"{{{inputs[0].name}}}"
    return ",".join(f"{key.name}={{{parameter.name}}}" for key, parameter in zip(keys, inputs, strict=True))


def _restrictions(top: Resource, navigation: str) -> Iterator[Notes]:
    """The owner's NavigationRestrictions on one navigation property, as if they stood at that property."""
    for row in as_list(top.capability("NavigationRestrictions", "RestrictedProperties")):
        if isinstance(row, Mapping) and row.get("NavigationProperty") == navigation:
            yield {f"Capabilities.{term}": value for term, value in row.items()}
