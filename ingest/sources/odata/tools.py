"""The operations of the resources of an OData service: query, read, create, update, delete; and what links them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from egotools.call import Argument, Call
from ingest.sources.odata.resources import key_path
from ingest.sources.odata.types import Navigation, Property, Resource, Service, is_collection
from ingest.sources.operation import CallInput, Operation, Output, arguments_of
from ingest.sources.prose import name_words, sentences, with_article
from ontology.errors import DocumentError
from ontology.tool import Dependency, Tool

#: Maximum number of properties that a query tool can filter by.
MAX_FILTERS = 40

_JSON = "application/json"
_METHODS = {"query": "GET", "read": "GET", "create": "POST", "update": "PATCH", "delete": "DELETE"}


def literal_input(types: Service, property_: Property, location: str) -> CallInput:
    """A value that is written in the URL; its type says how."""
    argument = Argument(name=property_.name, location=location, style=types.edm_type(property_.type))
    return CallInput(argument, types.value(property_, literal=True), property_.required and location != "filter")


def body_inputs(fields: Mapping[str, Mapping[str, object]], properties: Iterable[Property] = ()) -> Iterator[CallInput]:
    """Members of a JSON body; those of ``properties`` that are required are."""
    needed = {each.name for each in properties if each.required}
    for name, schema in fields.items():
        yield CallInput(Argument(name=name, location="body"), schema, name in needed)


def first_of_each_name(inputs: Iterable[CallInput]) -> list[CallInput]:
    """Of two inputs of one name the first: a key that stands in the path twice, a field of the body that the path states."""
    found: dict[str, CallInput] = {}
    for each in inputs:
        found.setdefault(each.name, each)
    return list(found.values())


def call_of(service: Service, method: str, path: str, inputs: Sequence[CallInput]) -> Call:
    """The call of an operation."""
    has_body = any(each.argument.location == "body" for each in inputs)
    return Call(
        protocol="odata",
        service=service.version,
        servers=service.servers,
        method=method,
        path=path,
        media_type=_JSON if has_body else "",
        accept=_JSON,
        arguments=arguments_of(inputs),
    )


def verbs_of(resource: Resource) -> list[str]:
    """Return the verbs that the capabilities of a resource allow."""
    readable = resource.allows("ReadRestrictions", "Readable")
    by_key = resource.capability("ReadRestrictions", "ReadByKeyRestrictions")
    allowed = {
        "query": readable and not resource.single,
        "read": by_key.get("Readable", readable) is not False if isinstance(by_key, dict) else readable,
        "create": resource.allows("InsertRestrictions", "Insertable") and not resource.single,
        "update": resource.allows("UpdateRestrictions", "Updatable"),
        "delete": resource.allows("DeleteRestrictions", "Deletable") and not resource.single,
    }
    return [verb for verb in resource.verbs if allowed[verb]]


def resource_operation(types: Service, resource: Resource, verb: str) -> Operation:
    """One operation of a resource."""
    properties = types.properties(resource.type)
    has_key = verb not in ("query", "create") and not resource.single
    keys = [replace(key, required=True) for key in types.keys(resource.type)] if has_key else []
    path = key_path(resource.path, keys, keys) if has_key else resource.path
    inputs = [literal_input(types, key, "path") for key in (*resource.owner_keys, *keys)]
    if verb == "query":
        filters = _filterable(types, resource, properties)
        inputs += _query_options(types, resource, [each.name for each in filters])
        inputs += [literal_input(types, each, "filter") for each in filters if each.name not in resource.taken]
    elif verb == "read":
        inputs += _projection_options(types, resource)
    elif verb == "create":
        own = [key.name for key in types.keys(resource.type)]
        # The server usually assigns a single key (a number, a GUID), so it is optional.
        body = [replace(each, required=each.required and own != [each.name]) for each in properties if each.creatable]
        inputs += body_inputs(types.created(resource.type, body), body)
    elif verb == "update":
        names = {key.name for key in keys}
        body = [each for each in properties if each.updatable and each.name not in names]
        inputs += body_inputs({each.name: types.value(replace(each, default=None)) for each in body})
    output: Output | None = None
    if verb not in ("update", "delete"):
        whole = types.answer(f"Collection({resource.type})" if verb == "query" else resource.type)
        output = Output({"$ref": resource.type}, whole, "value[]." if verb == "query" else "")
    inputs = first_of_each_name(inputs)
    text, subject = _text(resource, verb)
    label = "" if name_words(resource.label).lower() in text.lower() else resource.label
    return Operation(
        id=f"{verb}_{resource.id}",
        description=sentences(text, label, resource.description),
        inputs=inputs,
        output=output,
        depends_on=resource.depends_on,
        metadata={
            "title": f"{verb.capitalize()} {subject}",
            "entity": resource.noun,
            "entity_set": resource.id,
            "entity_type": resource.type,
            "method": _METHODS[verb],
            "path": path,
            "tags": [resource.noun, *([resource.owner] if resource.owner else [])],
        },
        call=call_of(types, _METHODS[verb], path, inputs),
    )


def _text(resource: Resource, verb: str) -> tuple[str, str]:
    """What an operation does, and the subject of its title."""
    noun, name = resource.noun, name_words(resource.name)
    of = ""
    if resource.owner:
        of = f" of {with_article(resource.owner) if resource.owner_keys else resource.owner}"
    if resource.single:
        one = name
    else:  # with its collection where the names differ: event of calendar view
        one = noun if name.lower().startswith(noun.lower()[:-1]) else f"{noun} of {name}"
    said = f"the {one}" if resource.single else f"one {one}"
    plural = f"{name} records" if name == noun else name
    text = {
        "query": f"Find {plural}{of}: filter, sort and page through them",
        "read": f"Read {said}{'' if resource.single else ' by its key'}{of}",
        "create": f"Create {with_article(one)}{of}",
        "update": f"Change fields of {said}{of}",
        "delete": f"Delete {said}{of}",
    }[verb]
    return text, f"{name if verb == 'query' else one}{of}"


def _option(name: str, description: str, **schema: object) -> CallInput:
    return CallInput(Argument(name=name, location="query"), {"type": "string", **schema, "description": description})


def _query_options(types: Service, resource: Resource, filters: Sequence[str]) -> Iterator[CallInput]:
    if filters:
        yield _option("$filter", "OData filter over: " + ", ".join(filters))
    if resource.capability("SearchRestrictions", "Searchable") is True:
        yield _option("$search", "Free text to search for")
    if resource.allows("SortRestrictions", "Sortable"):
        yield _option("$orderby", "Properties to sort by, each with asc or desc")
    if resource.capability("TopSupported") is not False:
        yield _option("$top", "How many records to return at most", type="integer", minimum=0)
    if resource.capability("SkipSupported") is not False:
        yield _option("$skip", "How many records to pass over", type="integer", minimum=0)
    yield from _projection_options(types, resource)


def _projection_options(types: Service, resource: Resource) -> Iterator[CallInput]:
    if resource.allows("SelectSupport", "Supported"):
        yield _option("$select", "Properties to return, separated by commas")
    related = [navigation.name for navigation in types.navigations(resource.type)][:MAX_FILTERS]
    if related and resource.allows("ExpandRestrictions", "Expandable"):
        yield _option("$expand", "Related entities to return as well: " + ", ".join(related))


def _filterable(types: Service, resource: Resource, properties: Sequence[Property]) -> list[Property]:
    if not resource.allows("FilterRestrictions", "Filterable"):
        return []
    excluded = resource.capability("FilterRestrictions", "NonFilterableProperties") or ()
    return [
        each
        for each in properties
        if each.filterable
        and each.name not in excluded
        and not is_collection(each.type)
        and each.type != "Edm.Stream"
        and not types.is_structured(each.type)
    ][:MAX_FILTERS]


def declared_dependencies(
    types: Service, resources: Sequence[Resource], tools: Sequence[Tool]
) -> dict[str, tuple[Dependency, ...]]:
    """Map from tool id to dependencies: the tool's own, then those from navigation properties; only on existing tools.
    The tool that reads A depends on the tool that reads B when A has a navigation property to B. Contained resources
    are left out: they already depend on their owner. A tool that creates the dependent end of a referential constraint
    needs the key of the principal end, so it depends on the query tool of that end."""
    known = {tool.id: tool for tool in tools}
    by_id = {resource.id: resource for resource in resources}
    sets = [resource for resource in resources if not resource.owner and not resource.single]
    counts = Counter(resource.type for resource in sets)
    only_sets = {resource.type: resource for resource in sets if counts[resource.type] == 1}
    found: dict[str, list[Dependency]] = {tool.id: list(tool.depends_on) for tool in tools}
    for resource in resources:
        try:
            navigations = types.navigations(resource.type)
        except DocumentError:
            continue
        for navigation in navigations:
            target = only_sets.get(navigation.type)
            if bound := resource.bindings.get(navigation.name) or navigation.target:
                parts = bound.split("/")
                ids = ("_".join(parts[start:]) for start in range(len(parts)))
                target = next((by_id[id_] for id_ in ids if id_ in by_id), None)
            if target is not None and not navigation.contained:
                for tool, dependency in _dependencies(resource, navigation, target, known):
                    found[tool].append(dependency)
    return {
        id_: tuple(dict.fromkeys(one for one in dependencies if one.tool in known and one.tool != id_))
        for id_, dependencies in found.items()
    }


def _dependencies(
    resource: Resource, navigation: Navigation, target: Resource, known: Mapping[str, Tool]
) -> Iterator[tuple[str, Dependency]]:
    """Yield the dependencies of a navigation property, each with the id of the tool that has it."""
    reason = f"navigation {navigation.name}"
    consumer, producer = _reader(resource, known), _reader(target, known)
    if consumer is not None and producer is not None:
        inputs = {parameter.name for parameter in consumer.parameters if parameter.required}
        outputs = {output.name.removeprefix("value[]."): output.name for output in producer.returns}
        pairs = [(own, outputs[other]) for own, other in navigation.pairs if own in inputs and other in outputs]
        for own, output in pairs or [("", "")]:
            found = Dependency(tool=producer.id, parameter=own, output=output, reason=reason, required=bool(own))
            yield consumer.id, found
    dependent, principal = (target, resource) if navigation.many else (resource, target)
    creation = known.get(f"create_{dependent.id}")
    fields = {parameter.name for parameter in creation.parameters} if creation else set()
    for pair in navigation.pairs:
        own, key = reversed(pair) if navigation.many else pair
        if creation is not None and own in fields:
            output = f"value[].{key}"
            yield creation.id, Dependency(tool=f"query_{principal.id}", parameter=own, output=output, reason=reason)


def _reader(resource: Resource, known: Mapping[str, Tool]) -> Tool | None:
    return known.get(f"read_{resource.id}") or known.get(f"query_{resource.id}")
