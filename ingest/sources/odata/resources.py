"""Where an OData service keeps its entities: entity sets, singletons, and what they contain one level below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.sources.odata.annotations import Notes
from ingest.sources.odata.csdl import EntitySet, Navigation, Property
from ingest.sources.odata.fields import DanglingTypeError, TypeBook, words
from ontology.tool import Dependency, Parameter

__all__ = ["MAX_CONTAINED", "Resource", "find_resources", "key_name"]

#: Contained navigation properties that are given tools, over the whole document.
MAX_CONTAINED = 2_000

_VAGUE_KEYS = frozenset({"id", "key", "name", "code", "guid", "uuid", "number"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A collection of entities, or one entity, under a path of its own.

    :param id: unique in the service: ``users``, ``users_messages``.
    :param type: qualified type of the entities.
    :param single: whether it is one entity, without a key.
    :param name: last part of the path.
    :param label: what the document calls it.
    :param owner: words for what it belongs to (``user``), or empty.
    :param inputs: the owner's keys.
    :param needs: where the owner's keys come from.
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
    needs: tuple[Dependency, ...] = ()
    bindings: Mapping[str, str]
    limits: tuple[Notes, ...]

    @property
    def noun(self) -> str:
        """What one of its entities is called: *purchase order item*."""
        short = self.type.rpartition(".")[2]
        if short.removesuffix("Type") == self.name:
            short = self.name
        return words(short)

    def allows(self, restrictions: str, key: str) -> bool:
        """Whether the annotations leave something open: ``allows("InsertRestrictions", "Insertable")``."""
        said = self.says(restrictions, key)
        return said is None or said is True

    def says(self, term: str, key: str = "") -> Any:
        """The nearest value of a capability term, or of one of its properties; None where nothing is said."""
        for notes in self.limits:
            value = notes.get(f"Capabilities.{term}")
            if key:
                value = value.get(key) if isinstance(value, Mapping) else None
            if value is not None:
                return value
        return None


def key_name(key: str, noun: str, taken: frozenset[str] = frozenset()) -> str:
    """What an input that carries an entity's key is called: a vague key (``id``) has the entity put before it."""
    if key.lower() in _VAGUE_KEYS or key in taken:
        return f"{noun.replace(' ', '_')}_{key}"
    return key


def find_resources(book: TypeBook) -> tuple[list[Resource], list[str]]:
    """The resources of a service in its order, and the ids of contained ones beyond :data:`MAX_CONTAINED`."""
    found: list[Resource] = []
    beyond: list[str] = []
    contained = 0
    for set_ in book.service.sets:
        top = _top(book, set_)
        found.append(top)
        for below in _contained(book, top):
            contained += 1
            if contained > MAX_CONTAINED:
                beyond.append(below.id)
            else:
                found.append(below)
    return found, beyond


def _top(book: TypeBook, set_: EntitySet) -> Resource:
    label, description = book.description(set_.type)
    type_ = book.service.types.get(set_.type)
    return Resource(
        id=set_.name,
        type=set_.type,
        name=set_.name,
        path=f"/{set_.name}",
        single=set_.singleton,
        label=set_.label or label,
        description=set_.description or description,
        bindings={path.rpartition("/")[2]: target for path, target in set_.bindings.items()},
        limits=(set_.notes, type_.notes if type_ is not None else {}),
    )


def _contained(book: TypeBook, top: Resource) -> Iterator[Resource]:
    try:
        navigations = [n for n in book.navigations(top.type) if n.contained]
        keys = [] if top.single else book.keys(top.type)
        inputs = tuple(_owner_key(book, key, top) for key in keys)
    except DanglingTypeError:
        return  # the tools of the owner itself are rejected for it
    needs = tuple(
        Dependency(
            tool=f"query_{top.id}",
            parameter=parameter.name,
            output=f"value[].{key.name}",
            reason=f"contained in {top.id}",
        )
        for key, parameter in zip(keys, inputs, strict=True)
    )
    place = top.path if top.single else f"{top.path}({_predicate(keys, inputs)})"
    for navigation in navigations:
        yield _below(book, top, navigation, place, inputs, needs)


def _below(
    book: TypeBook,
    top: Resource,
    navigation: Navigation,
    place: str,
    inputs: tuple[Parameter, ...],
    needs: tuple[Dependency, ...],
) -> Resource:
    label, description = book.description(navigation.type)
    type_ = book.service.types.get(navigation.type)
    said = navigation.notes.get("Core.Description")
    return Resource(
        id=f"{top.id}_{navigation.name}",
        type=navigation.type,
        name=navigation.name,
        path=f"{place}/{navigation.name}",
        single=not navigation.many,
        label=label,
        description=said if isinstance(said, str) else description,
        owner=words(top.name) if top.single else top.noun,
        inputs=inputs,
        needs=needs,
        bindings={},
        limits=(*_restricted(top, navigation.name), navigation.notes, type_.notes if type_ is not None else {}),
    )


def _owner_key(book: TypeBook, key: Property, top: Resource) -> Parameter:
    bare = book.parameter(key, location="path", required=True, name=key_name(key.name, top.noun))
    return Parameter(
        name=bare.name,
        type=bare.type,
        description=bare.description or f"{key.name} of the {top.noun}",
        required=True,
        enum=bare.enum,
        location="path",
        format=bare.format,
    )


def _predicate(keys: list[Property], inputs: tuple[Parameter, ...]) -> str:
    if len(keys) == 1:
        return f"{{{inputs[0].name}}}"
    return ",".join(f"{key.name}={{{parameter.name}}}" for key, parameter in zip(keys, inputs, strict=True))


def _restricted(top: Resource, navigation: str) -> Iterator[Notes]:
    """What the owner's NavigationRestrictions say of one navigation property, as if it were said of that property."""
    rows = top.says("NavigationRestrictions", "RestrictedProperties")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping) and row.get("NavigationProperty") == navigation:
            yield {f"Capabilities.{term}": value for term, value in row.items()}
