"""The resources of an OData service: entity sets, singletons, what they contain, and collections that they are linked with.

A contained entity may contain others, up to :data:`MAX_NESTING` levels. Entities below the first level, and those behind a
navigation property that does not contain them, are read only: these tools find and read them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ingest.sources.json_schema.cut_parts import cut_parts
from ingest.sources.odata.csdl import Annotations, EntitySet, Navigation, Property, StructuredType
from ingest.sources.odata.fields import (
    EdmSchemas,
    ServiceTypes,
    body_inputs,
    call_of,
    filter_inputs,
    first_of_each_name,
    input_schema_of,
    is_collection,
    key_inputs,
    key_parameter,
    option_inputs,
)
from ingest.sources.prose import name_words, sentences, with_article
from ingest.sources.source import CallInput, RejectedRecord, as_list
from ontology.errors import DocumentError
from ontology.tool import Dependency, Parameter, Tool

__all__ = ["Resource", "declared_dependencies", "find_resources", "key_dependencies", "key_name", "resource_tools"]

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


#: Maximum number of properties that a query tool can filter by.
MAX_FILTERS = 40


def projection_options(types: ServiceTypes, resource: Resource) -> Iterator[Parameter]:
    """Yield the options that select the properties and related entities of the response."""
    if resource.allows("SelectSupport", "Supported"):
        yield _option("$select", "Properties to return, separated by commas")
    related = [navigation.name for navigation in types.navigations(resource.type)][:MAX_FILTERS]
    if related and resource.allows("ExpandRestrictions", "Expandable"):
        yield _option("$expand", "Related entities to return as well: " + ", ".join(related))


def query_options(types: ServiceTypes, resource: Resource, properties: list[Property]) -> Iterator[Parameter]:
    """Yield the options of a query: filter, search, order, page, projection."""
    names = [p.name for p in _filterable(types, resource, properties)]
    if names:
        yield _option("$filter", "OData filter over: " + ", ".join(names))
    if resource.capability("SearchRestrictions", "Searchable") is True:
        yield _option("$search", "Free text to search for")
    if resource.allows("SortRestrictions", "Sortable"):
        yield _option("$orderby", "Properties to sort by, each with asc or desc")
    if resource.capability("TopSupported") is not False:
        yield _option("$top", "How many records to return at most", "integer")
    if resource.capability("SkipSupported") is not False:
        yield _option("$skip", "How many records to pass over", "integer")
    yield from projection_options(types, resource)


def filters(types: ServiceTypes, resource: Resource, properties: list[Property]) -> list[Property]:
    """Return the properties that are inputs to compare with, without names that the path has."""
    taken = {parameter.name for parameter in resource.inputs}
    return [each for each in _filterable(types, resource, properties) if each.name not in taken]


def _option(name: str, description: str, type_: str = "string") -> Parameter:
    return Parameter(name=name, type=type_, description=description, location="query")


def _filterable(types: ServiceTypes, resource: Resource, properties: list[Property]) -> list[Property]:
    """Return the primitive properties that a filter may use."""
    if not resource.allows("FilterRestrictions", "Filterable"):
        return []
    excluded = resource.capability("FilterRestrictions", "NonFilterableProperties") or ()
    return [
        p
        for p in properties
        if p.filterable
        and p.name not in excluded
        and not is_collection(p.type)
        and p.type != "Edm.Stream"
        and not types.is_structured(p.type)
    ][:MAX_FILTERS]


_METHODS = {"query": "GET", "read": "GET", "create": "POST", "update": "PATCH", "delete": "DELETE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What a verb says about its tool.

    :param parameters: the flat view of the inputs.
    :param inputs: the inputs beside the owner's keys, with places and schemas.
    :param answer: JSON Schema of the answer, or None.
    """

    text: str
    parameters: tuple[Parameter, ...]
    inputs: Sequence[CallInput]
    returns: tuple[Parameter, ...] = ()
    answer: dict[str, Any] | None = field(default=None)


_Make = Callable[[EdmSchemas, ServiceTypes, Resource], _Draft]


def resource_tools(
    schemas: EdmSchemas, types: ServiceTypes, resource: Resource, address: str
) -> Iterator[Tool | RejectedRecord]:
    """Yield the tools of a resource; one that needs a type that is not defined is rejected."""
    for verb, make in _verbs(resource):
        id_ = f"{verb}_{resource.id}"
        try:
            tool = _tool(schemas, types, resource, verb, make(schemas, types, resource))
        except Exception as error:  # whatever is wrong with one, the others are read
            yield RejectedRecord.of_error(f"{address}#{id_}", error)
        else:
            yield replace(tool, id=id_, name=id_, depends_on=resource.depends_on)


def _verbs(resource: Resource) -> Iterator[tuple[str, _Make]]:
    """Yield the verbs that the capabilities of a resource allow, with the functions that describe their tools."""
    readable = resource.allows("ReadRestrictions", "Readable")
    by_key = resource.capability("ReadRestrictions", "ReadByKeyRestrictions")
    if readable and not resource.single:
        yield "query", _query
    if resource.linked:
        return
    if by_key.get("Readable", readable) is not False if isinstance(by_key, dict) else readable:
        yield "read", _read
    if resource.read_only:
        return
    if resource.allows("InsertRestrictions", "Insertable") and not resource.single:
        yield "create", _create
    if resource.allows("UpdateRestrictions", "Updatable"):
        yield "update", _update
    if resource.allows("DeleteRestrictions", "Deletable") and not resource.single:
        yield "delete", _delete


def _query(schemas: EdmSchemas, types: ServiceTypes, resource: Resource) -> _Draft:
    properties = types.properties(resource.type)
    options = list(query_options(types, resource, properties))
    compared = filters(types, resource, properties)
    return _Draft(
        text=f"Find {_plural(resource)}{_of(resource)}: filter, sort and page through them",
        parameters=(*options, *(types.parameter(each, location="query") for each in compared)),
        inputs=[*option_inputs(options), *filter_inputs(schemas, compared)],
        returns=types.parameters(properties, prefix="value[]."),
        answer=schemas.answer(f"Collection({resource.type})"),
    )


def _read(schemas: EdmSchemas, types: ServiceTypes, resource: Resource) -> _Draft:
    one = f"the {_one(resource)}" if resource.single else f"one {_one(resource)} by its key"
    options = list(projection_options(types, resource))
    return _Draft(
        text=f"Read {one}{_of(resource)}",
        parameters=(*_keys(types, resource), *options),
        inputs=[*_key_inputs(schemas, types, resource), *option_inputs(options)],
        returns=types.parameters(types.properties(resource.type)),
        answer=schemas.answer(resource.type),
    )


def _create(schemas: EdmSchemas, types: ServiceTypes, resource: Resource) -> _Draft:
    properties = types.properties(resource.type)
    keys = [key.name for key in types.keys(resource.type)]
    body = [
        # The server usually assigns a single key (a number, a GUID), so it is optional.
        replace(p, required=p.required and keys != [p.name])
        for p in properties
        if p.creatable
    ]
    members = body_inputs(schemas.created(resource.type, body), [p.name for p in body if p.required])
    return _Draft(
        text=f"Create {with_article(_one(resource))}{_of(resource)}",
        parameters=_without_taken(resource.inputs, types.parameters(body, location="body", required=True)),
        inputs=members,
        returns=types.parameters(properties),
        answer=schemas.answer(resource.type),
    )


def _update(schemas: EdmSchemas, types: ServiceTypes, resource: Resource) -> _Draft:
    keys = _keys(types, resource)
    names = {key.name for key in keys}
    body = [p for p in types.properties(resource.type) if p.updatable and p.name not in names]
    members = {each.name: schemas.value(replace(each, default=None)) for each in body}
    one = f"the {_one(resource)}" if resource.single else f"one {_one(resource)}"
    flat = types.parameters(body, location="body")
    return _Draft(
        text=f"Change fields of {one}{_of(resource)}",
        parameters=(*keys, *_without_taken((*resource.inputs, *keys), flat)),
        inputs=[*_key_inputs(schemas, types, resource), *body_inputs(members)],
    )


def _delete(schemas: EdmSchemas, types: ServiceTypes, resource: Resource) -> _Draft:
    return _Draft(
        text=f"Delete one {_one(resource)}{_of(resource)}",
        parameters=_keys(types, resource),
        inputs=_key_inputs(schemas, types, resource),
    )


def _tool(schemas: EdmSchemas, types: ServiceTypes, resource: Resource, verb: str, draft: _Draft) -> Tool:
    subject = name_words(resource.name) if verb == "query" else _one(resource)
    label = "" if name_words(resource.label).lower() in draft.text.lower() else resource.label
    path = resource.path
    if verb not in {"query", "create"} and not resource.single:
        keys = [p.name for p in draft.parameters if p.location == "path"]
        path += "(" + (f"{{{keys[0]}}}" if len(keys) == 1 else ",".join(f"{k}={{{k}}}" for k in keys)) + ")"
    inputs = first_of_each_name([*key_inputs(schemas, resource.owner_keys), *draft.inputs])
    taken = input_schema_of(schemas, inputs)
    given = schemas.alone(draft.answer, output=True) if draft.answer is not None else None
    service = types.service
    return Tool(
        id="",
        name="",
        description=sentences(draft.text, label, resource.description),
        parameters=(*resource.inputs, *draft.parameters),
        returns=draft.returns,
        metadata={
            "title": f"{verb.capitalize()} {subject}{_of(resource)}",
            "entity": resource.noun,
            "entity_set": resource.id,
            "entity_type": resource.type,
            "method": _METHODS[verb],
            "path": path,
            "tags": [resource.noun, *([resource.owner] if resource.owner else [])],
            **cut_parts(input_schema=taken, output_schema=given),
        },
        input_schema=taken.schema,
        output_schema=given.schema if given is not None else None,
        call=call_of(_METHODS[verb], path, inputs, version=service.version, servers=service.servers),
    )


def _plural(resource: Resource) -> str:
    name = name_words(resource.name)
    return f"{name} records" if name == resource.noun else name


def _one(resource: Resource) -> str:
    """Return the name of one entity, with its collection where the names differ (*event of calendar view*)."""
    noun, name = resource.noun, name_words(resource.name)
    if resource.single:
        return name
    return noun if name.lower().startswith(noun.lower()[:-1]) else f"{noun} of {name}"


def _of(resource: Resource) -> str:
    if not resource.owner:
        return ""
    return f" of {with_article(resource.owner) if resource.inputs else resource.owner}"


def _without_taken(inputs: tuple[Parameter, ...], body: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """Return body fields, without those that have the name of a path input."""
    taken = {parameter.name for parameter in inputs}
    return tuple(parameter for parameter in body if parameter.name not in taken)


def _key_properties(types: ServiceTypes, resource: Resource) -> list[Property]:
    return [] if resource.single else [replace(key, required=True) for key in types.keys(resource.type)]


def _keys(types: ServiceTypes, resource: Resource) -> tuple[Parameter, ...]:
    keys = _key_properties(types, resource)
    return tuple(types.parameter(key, location="path", required=True) for key in keys)


def _key_inputs(schemas: EdmSchemas, types: ServiceTypes, resource: Resource) -> list[CallInput]:
    return key_inputs(schemas, _key_properties(types, resource))


class _DependencyOf(NamedTuple):
    """A dependency and the id of the tool that has it."""

    tool: str
    dependency: Dependency


def declared_dependencies(
    types: ServiceTypes, resources: Sequence[Resource], tools: Sequence[Tool]
) -> dict[str, tuple[Dependency, ...]]:
    """Map from tool id to dependencies: the tool's own, then those from navigation properties; only on existing tools.

    The tool that reads A depends on the tool that reads B when A has a navigation property to B. Contained resources are left out:
    they already depend on their owner. A tool that creates the dependent end of a referential constraint needs the key of the
    principal end, so it depends on the query tool of that end.
    """
    known = {tool.id: tool for tool in tools}
    by_id = {resource.id: resource for resource in resources}
    sets = [resource for resource in resources if not resource.owner and not resource.single]
    counts = Counter(resource.type for resource in sets)
    only_sets = {resource.type: resource for resource in sets if counts[resource.type] == 1}
    found: dict[str, list[Dependency]] = {tool.id: list(tool.depends_on) for tool in tools}
    for resource in resources:
        for navigation in _navigations(types, resource):
            target = None if navigation.contained else _target(resource, navigation, by_id, only_sets)
            if target is not None:
                for tool, dependency in _dependencies(resource, navigation, target, known):
                    found[tool].append(dependency)
    return {
        id_: tuple(dict.fromkeys(one for one in dependencies if one.tool in known and one.tool != id_))
        for id_, dependencies in found.items()
    }


def _navigations(types: ServiceTypes, resource: Resource) -> list[Navigation]:
    try:
        return types.navigations(resource.type)
    except DocumentError:
        return []


def _target(
    resource: Resource,
    navigation: Navigation,
    by_id: Mapping[str, Resource],
    only_sets: Mapping[str, Resource],
) -> Resource | None:
    """Return the target resource of a navigation property: the bound one, else the only set of that type, else None."""
    bound = resource.bindings.get(navigation.name)
    if not bound:
        return only_sets.get(navigation.type)
    parts = bound.split("/")
    ids = ("_".join(parts[start:]) for start in range(len(parts)))
    return next((by_id[id_] for id_ in ids if id_ in by_id), None)


def _dependencies(
    resource: Resource, navigation: Navigation, target: Resource, known: Mapping[str, Tool]
) -> Iterator[_DependencyOf]:
    reason = f"navigation {navigation.name}"
    consumer, producer = _reader(resource, known), _reader(target, known)
    if consumer is not None and producer is not None:
        inputs = {parameter.name for parameter in consumer.parameters if parameter.required}
        outputs = {output.name.removeprefix("value[]."): output.name for output in producer.returns}
        pairs = [(own, outputs[other]) for own, other in navigation.pairs if own in inputs and other in outputs]
        for own, output in pairs or [("", "")]:
            found = Dependency(tool=producer.id, parameter=own, output=output, reason=reason, required=bool(own))
            yield _DependencyOf(consumer.id, found)
    dependent, principal = (target, resource) if navigation.many else (resource, target)
    creation = known.get(f"create_{dependent.id}")
    fields = {parameter.name for parameter in creation.parameters} if creation else set()
    for pair in navigation.pairs:
        own, key = reversed(pair) if navigation.many else pair
        if creation is not None and own in fields:
            dependency = Dependency(tool=f"query_{principal.id}", parameter=own, output=f"value[].{key}", reason=reason)
            yield _DependencyOf(creation.id, dependency)


def _reader(resource: Resource, known: Mapping[str, Tool]) -> Tool | None:
    return known.get(f"read_{resource.id}") or known.get(f"query_{resource.id}")


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
