"""The request of a function or an action of an OData service.

Version 4: a function has its parameters in the path (``/orders({id})/shop.total(year={year})``), an action in the body. Version 2: a
function import has them in the query. A bound operation is called below an entity that has its type, or below their collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from egotools.call import Argument, Call
from ingest.sources.call_inputs import CallInput
from ingest.sources.json_schema.self_contained import SelfContained
from ingest.sources.odata.csdl import Operation, Property
from ingest.sources.odata.edm_schemas import EdmSchemas
from ingest.sources.odata.fields import ServiceTypes, is_collection, item_type
from ingest.sources.odata.request_inputs import (
    body_inputs,
    call_of,
    first_of_each_name,
    input_schema_of,
    key_inputs,
    parameter_inputs,
)
from ingest.sources.odata.resource import Resource, key_name
from ingest.sources.prose import name_words

__all__ = ["OperationRequest", "operation_request", "places_of"]


class OperationRequest(NamedTuple):
    """The JSON Schema of the arguments, and the call; None where no path of the service leads to the bound type."""

    schema: SelfContained
    call: Call | None


def places_of(resources: Sequence[Resource]) -> Mapping[str, Resource]:
    """Map from entity type to the resource below which its operations are called: the one that needs the fewest keys.

    A collection goes before a single entity, which is only one of many.
    """
    found: dict[str, Resource] = {}
    for resource in sorted((each for each in resources if not each.linked), key=lambda each: len(each.owner_keys)):
        known = found.get(resource.type)
        if known is None or (known.single and not resource.single):
            found[resource.type] = resource
    return found


def operation_request(
    schemas: EdmSchemas,
    types: ServiceTypes,
    overloads: Sequence[Operation],
    parameters: Sequence[Property],
    places: Mapping[str, Resource],
) -> OperationRequest:
    """The request of the overloads of one operation.

    :param parameters: the inputs of all overloads.
    :raises DocumentError: when a type is not defined.
    """
    operation = overloads[0]
    service = types.service
    given, signature = _parameters(schemas, types, operation, parameters)
    bound = item_type(operation.binding)
    place = places.get(bound) if bound else None
    if place is None:
        path = None if bound else f"/{operation.name}{signature}"
        keys: list[Property] = []
        if bound and bound in service.types and not is_collection(operation.binding):
            keys = _own_keys(types, bound, parameters, frozenset())
        inputs = first_of_each_name([*key_inputs(schemas, keys), *given])
    else:
        path, keys = _below(types, place, operation, parameters)
        path += f"/{operation.qualified or operation.name}{signature}"
        inputs = first_of_each_name([*key_inputs(schemas, (*place.owner_keys, *keys)), *given])
    schema = input_schema_of(schemas, inputs)
    if path is None:
        return OperationRequest(schema, None)
    method = operation.method.upper()
    return OperationRequest(schema, call_of(method, path, inputs, version=service.version, servers=service.servers))


def _below(
    types: ServiceTypes, place: Resource, operation: Operation, parameters: Sequence[Property]
) -> tuple[str, list[Property]]:
    """The path of the entity, or of the collection, that the operation is bound to, and its keys."""
    if place.single or is_collection(operation.binding):
        return place.path, []
    own = types.keys(place.type)
    keys = _own_keys(types, place.type, parameters, frozenset(each.name for each in place.inputs))
    if len(keys) == 1:
        return f"{place.path}({{{keys[0].name}}})", keys
    pairs = ",".join(f"{key.name}={{{named.name}}}" for key, named in zip(own, keys, strict=True))
    return f"{place.path}({pairs})", keys


def _own_keys(
    types: ServiceTypes, type_: str, parameters: Sequence[Property], owners: frozenset[str]
) -> list[Property]:
    """The keys of the bound entity under the names of the tool's inputs."""
    noun = name_words(type_.rpartition(".")[2].removesuffix("Type"))
    taken = frozenset(each.name for each in parameters)
    names = [(key, key_name(key.name, noun, taken)) for key in types.keys(type_)]
    return [replace(key, name=f"{name}_2" if name in owners else name, required=True) for key, name in names]


def _parameters(
    schemas: EdmSchemas, types: ServiceTypes, operation: Operation, parameters: Sequence[Property]
) -> tuple[list[CallInput], str]:
    """The inputs of the parameters, and what stands after the name in the path."""
    if types.service.version == "v2":
        return parameter_inputs(schemas, parameters, "query"), ""
    if operation.method != "GET":
        fields = {each.name: schemas.value(each) for each in parameters}
        return body_inputs(fields, [each.name for each in parameters if each.required]), ""
    inputs: list[CallInput] = []
    written: list[str] = []
    for each in parameters:
        if is_collection(each.type) or types.is_structured(each.type):  # JSON, by an alias
            argument = Argument(name=each.name, location="query", wire_name=f"@{each.name}", style="json")
            inputs.append(CallInput(argument=argument, schema=schemas.value(each), required=each.required))
            written.append(f"{each.name}=@{each.name}")
        elif each.required:
            inputs += parameter_inputs(schemas, [each], "path")
            written.append(f"{each.name}={{{each.name}}}")
        else:
            inputs += parameter_inputs(schemas, [each], "query")
    return inputs, f"({','.join(written)})"
