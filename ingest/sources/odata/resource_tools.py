"""The tools of an OData resource: find, read, create, update and delete its entities, as its capabilities allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ingest.sources.call_inputs import CallInput
from ingest.sources.json_schema.cut_parts import cut_parts
from ingest.sources.odata.csdl import Property
from ingest.sources.odata.edm_schemas import EdmSchemas
from ingest.sources.odata.fields import ServiceTypes
from ingest.sources.odata.query_options import filters, projection_options, query_options
from ingest.sources.odata.request_inputs import (
    body_inputs,
    call_of,
    filter_inputs,
    first_of_each_name,
    input_schema_of,
    key_inputs,
    option_inputs,
)
from ingest.sources.odata.resource import Resource
from ingest.sources.prose import name_words, sentences, with_article
from ingest.sources.source import RejectedRecord
from ontology.tool import Parameter, Tool

__all__ = ["resource_tools"]

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
