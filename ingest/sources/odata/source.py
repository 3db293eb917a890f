"""The source ``odata.v1``: EDMX/CSDL documents of OData v2 and v4 services.

An entity set S has the tools ``query_S``, ``read_S``, ``create_S``, ``update_S`` and ``delete_S``, if its capabilities allow them; a
singleton has ``read_S`` and ``update_S``; a contained collection N has ``query_S_N``, …. Operations are tools too
(:mod:`ingest.sources.odata.operations`). Navigation properties become dependencies (:mod:`ingest.sources.odata.navigation`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from ingest.sources.document import Document
from ingest.sources.odata.csdl import Property
from ingest.sources.odata.edmx import parse_edmx
from ingest.sources.odata.fields import ServiceTypes, is_collection
from ingest.sources.odata.navigation import declared_dependencies
from ingest.sources.odata.operations import operation_tools
from ingest.sources.odata.resources import Resource, find_resources
from ingest.sources.prose import name_words, sentences, with_article
from ingest.sources.source import RejectedRecord, Source
from ontology.errors import DocumentError
from ontology.tool import Parameter, Tool

__all__ = ["ODataSource"]

#: Maximum number of properties that a query tool can filter by.
MAX_FILTERS = 40

_ROOT = re.compile(r"<(?:[\w.-]+:)?Edmx\b|<Schema\b[^>]*(?:schemas\.microsoft\.com/ado|docs\.oasis-open\.org/odata)")


class ODataSource(Source):
    """Reader of EDMX and CSDL files, and of ``$metadata`` addresses."""

    name = "odata.v1"

    def accepts(self, document: Document) -> bool:
        """Whether the ending is ``.edmx`` or ``.csdl``, or the file begins with an Edmx or an OData Schema element."""
        if not document.has_content:
            return False
        return document.suffix in {".edmx", ".csdl"} or bool(_ROOT.search(document.head.replace("\0", "")))

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield the tools of all entity sets, then those of the operations, then the rejected records of elements left out.

        :raises DocumentError: for XML that is invalid or declares entities, and XML without a schema.
        """
        service = parse_edmx(document)
        types = ServiceTypes(service)
        resources, left_out = find_resources(types)
        items: list[Tool | RejectedRecord] = []
        for resource in resources:
            items += _tools(types, resource, document.address)
        items += operation_tools(types, resources, document.address)
        depends_on = declared_dependencies(types, resources, [item for item in items if isinstance(item, Tool)])
        for item in items:
            if isinstance(item, Tool):
                metadata = {**item.metadata, "service": service.namespace}
                item = replace(item, depends_on=depends_on[item.id], metadata=metadata)
            yield item
        for id_ in left_out:
            detail = "The document contains more nested collections than are read; this one has no tools."
            yield RejectedRecord(f"{document.address}#{id_}", "too-many-contained", detail)
        nameless = RejectedRecord(document.address, "no-name", "An element has no Name; it is left out.")
        yield from [nameless] * service.nameless


def _tools(types: ServiceTypes, resource: Resource, address: str) -> Iterator[Tool | RejectedRecord]:
    for verb, make in _verbs(resource):
        id_ = f"{verb}_{resource.id}"
        try:
            tool = make(types, resource)
        except DocumentError as error:
            yield RejectedRecord.of_error(f"{address}#{id_}", error)
        else:
            yield replace(tool, id=id_, name=id_, depends_on=resource.depends_on)


def _verbs(resource: Resource) -> Iterator[tuple[str, Callable[[ServiceTypes, Resource], Tool]]]:
    """Yield the verbs that the capabilities of a resource allow, with the functions that make their tools."""
    readable = resource.allows("ReadRestrictions", "Readable")
    by_key = resource.capability("ReadRestrictions", "ReadByKeyRestrictions")
    if readable and not resource.single:
        yield "query", _query
    if by_key.get("Readable", readable) is not False if isinstance(by_key, dict) else readable:
        yield "read", _read
    if resource.allows("InsertRestrictions", "Insertable") and not resource.single:
        yield "create", _create
    if resource.allows("UpdateRestrictions", "Updatable"):
        yield "update", _update
    if resource.allows("DeleteRestrictions", "Deletable") and not resource.single:
        yield "delete", _delete


def _query(types: ServiceTypes, resource: Resource) -> Tool:
    properties = types.properties(resource.type)
    return _tool(
        resource,
        "query",
        f"Find {_plural(resource)}{_of(resource)}: filter, sort and page through them",
        parameters=(*resource.inputs, *_options(types, resource, properties), *_filters(types, resource, properties)),
        returns=types.parameters(properties, prefix="value[]."),
    )


def _read(types: ServiceTypes, resource: Resource) -> Tool:
    one = f"the {_one(resource)}" if resource.single else f"one {_one(resource)} by its key"
    return _tool(
        resource,
        "read",
        f"Read {one}{_of(resource)}",
        parameters=(*resource.inputs, *_keys(types, resource), *_projection_options(types, resource)),
        returns=types.parameters(types.properties(resource.type)),
    )


def _create(types: ServiceTypes, resource: Resource) -> Tool:
    properties = types.properties(resource.type)
    keys = [key.name for key in types.keys(resource.type)]
    body = [
        # The server usually assigns a single key (a number, a GUID), so it is optional.
        replace(p, required=p.required and keys != [p.name])
        for p in properties
        if p.creatable
    ]
    return _tool(
        resource,
        "create",
        f"Create {with_article(_one(resource))}{_of(resource)}",
        parameters=_without_taken(resource.inputs, types.parameters(body, location="body", required=True)),
        returns=types.parameters(properties),
    )


def _update(types: ServiceTypes, resource: Resource) -> Tool:
    keys = _keys(types, resource)
    names = {key.name for key in keys}
    body = [p for p in types.properties(resource.type) if p.updatable and p.name not in names]
    one = f"the {_one(resource)}" if resource.single else f"one {_one(resource)}"
    return _tool(
        resource,
        "update",
        f"Change fields of {one}{_of(resource)}",
        parameters=_without_taken((*resource.inputs, *keys), types.parameters(body, location="body")),
    )


def _delete(types: ServiceTypes, resource: Resource) -> Tool:
    text = f"Delete one {_one(resource)}{_of(resource)}"
    return _tool(resource, "delete", text, parameters=(*resource.inputs, *_keys(types, resource)))


_METHODS = {"query": "GET", "read": "GET", "create": "POST", "update": "PATCH", "delete": "DELETE"}


def _tool(
    resource: Resource,
    verb: str,
    text: str,
    *,
    parameters: tuple[Parameter, ...],
    returns: tuple[Parameter, ...] = (),
) -> Tool:
    subject = name_words(resource.name) if verb == "query" else _one(resource)
    label = "" if name_words(resource.label).lower() in text.lower() else resource.label
    path = resource.path
    if verb not in {"query", "create"} and not resource.single:
        keys = [p.name for p in parameters[len(resource.inputs) :] if p.location == "path"]
        path += "(" + (f"{{{keys[0]}}}" if len(keys) == 1 else ",".join(f"{k}={{{k}}}" for k in keys)) + ")"
    return Tool(
        id="",
        name="",
        description=sentences(text, label, resource.description),
        parameters=parameters,
        returns=returns,
        metadata={
            "title": f"{verb.capitalize()} {subject}{_of(resource)}",
            "entity": resource.noun,
            "entity_set": resource.id,
            "entity_type": resource.type,
            "method": _METHODS[verb],
            "path": path,
            "tags": [resource.noun, *([resource.owner] if resource.owner else [])],
        },
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
    """Return path inputs and body fields, without body fields that have the name of a path input."""
    taken = {parameter.name for parameter in inputs}
    return (*inputs, *(parameter for parameter in body if parameter.name not in taken))


def _keys(types: ServiceTypes, resource: Resource) -> tuple[Parameter, ...]:
    if resource.single:
        return ()
    keys = (replace(key, required=True) for key in types.keys(resource.type))
    return tuple(types.parameter(key, location="path", required=True) for key in keys)


def _projection_options(types: ServiceTypes, resource: Resource) -> Iterator[Parameter]:
    """Yield the options that select the properties and related entities of the response."""
    if resource.allows("SelectSupport", "Supported"):
        yield _option("$select", "Properties to return, separated by commas")
    related = [navigation.name for navigation in types.navigations(resource.type)][:MAX_FILTERS]
    if related and resource.allows("ExpandRestrictions", "Expandable"):
        yield _option("$expand", "Related entities to return as well: " + ", ".join(related))


def _options(types: ServiceTypes, resource: Resource, properties: list[Property]) -> Iterator[Parameter]:
    filters = [p.name for p in _filterable(types, resource, properties)]
    if filters:
        yield _option("$filter", "OData filter over: " + ", ".join(filters))
    if resource.capability("SearchRestrictions", "Searchable") is True:
        yield _option("$search", "Free text to search for")
    if resource.allows("SortRestrictions", "Sortable"):
        yield _option("$orderby", "Properties to sort by, each with asc or desc")
    if resource.capability("TopSupported") is not False:
        yield _option("$top", "How many records to return at most", "integer")
    if resource.capability("SkipSupported") is not False:
        yield _option("$skip", "How many records to pass over", "integer")
    yield from _projection_options(types, resource)


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


def _filters(types: ServiceTypes, resource: Resource, properties: list[Property]) -> Iterator[Parameter]:
    taken = {parameter.name for parameter in resource.inputs}
    for property_ in _filterable(types, resource, properties):
        if property_.name not in taken:
            yield types.parameter(property_, location="query")
