"""Convert function imports, functions and actions of an OData service to tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from egotools.call import Argument, Call
from ingest.sources.json_schema.cut_parts import cut_parts
from ingest.sources.json_schema.self_contained import SelfContained
from ingest.sources.odata.csdl import Operation, Property
from ingest.sources.odata.fields import (
    EdmSchemas,
    ServiceTypes,
    body_inputs,
    call_of,
    first_of_each_name,
    input_schema_of,
    is_collection,
    item_type,
    key_inputs,
    key_parameter,
    parameter_inputs,
)
from ingest.sources.odata.resources import Resource, key_dependencies, key_name
from ingest.sources.prose import name_words, sentences, title_of, with_article
from ingest.sources.source import CallInput, RejectedRecord
from ontology.tool import Parameter, Tool

__all__ = ["operation_tools"]


class OperationRequest(NamedTuple):
    """The JSON Schema of the arguments, and the call; None where no path of the service leads to the bound type."""

    schema: SelfContained
    call: Call | None


def places_of(types: ServiceTypes, resources: Sequence[Resource]) -> Mapping[str, Resource]:
    """Map from entity type to the resource below which its operations are called: the one that needs the fewest keys.

    A collection goes before a single entity, which is only one of many. A type without a resource of its own has that of a type derived
    from it, with the keys under its own name where it states them.
    """
    found: dict[str, Resource] = {}
    for resource in sorted((each for each in resources if not each.linked), key=lambda each: len(each.owner_keys)):
        known = found.get(resource.type)
        if known is None or (known.single and not resource.single):
            found[resource.type] = resource
    for resource in sorted(found.values(), key=lambda each: (each.single, len(each.owner_keys), each.type)):
        for base in types.lineage(resource.type):
            if base.name not in found:
                found[base.name] = replace(resource, type=base.name) if types.keys(base.name) else resource
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


def operation_tools(
    schemas: EdmSchemas, types: ServiceTypes, resources: Sequence[Resource], nested: Sequence[Resource], address: str
) -> Iterator[Tool | RejectedRecord]:
    """Yield one tool for each operation; overloads with the same binding are one tool with the inputs of all.

    The id of a bound operation begins with its entity: ``message.reply``.

    :param nested: resources that an operation may be called below, beside ``resources``.
    """
    collections, places = _collections(resources), places_of(types, [*resources, *nested])
    for id_, overloads in _overloads(types).items():
        try:
            tool = _tool(types, id_, overloads, collections)
            request = operation_request(schemas, types, overloads, _inputs(overloads), places)
            returns = next((o.returns for o in overloads if o.returns), "")
            given = schemas.alone(schemas.answer(returns, overloads[0].name), output=True) if returns else None
            yield replace(
                tool,
                input_schema=request.schema.schema,
                output_schema=given.schema if given is not None else None,
                call=request.call,
                metadata={**tool.metadata, **cut_parts(input_schema=request.schema, output_schema=given)},
            )
        except Exception as error:  # whatever is wrong with one, the others are read
            yield RejectedRecord.of_error(f"{address}#{id_}", error)


def _short_names(types: ServiceTypes) -> dict[str, str]:
    """Map from qualified type to short name; types with the same short name keep the different part of their namespaces."""
    names = types.service.types
    counts = Counter(name.rpartition(".")[2] for name in names)
    namespaces = [name.split(".")[:-1] for name in names]
    columns = zip(*namespaces, strict=False)
    common = next(
        (depth for depth, column in enumerate(columns) if len(set(column)) > 1), min(map(len, namespaces), default=0)
    )
    return {
        name: short if counts[short := name.rpartition(".")[2]] == 1 else ".".join(name.split(".")[common:])
        for name in names
    }


def _overloads(types: ServiceTypes) -> dict[str, list[Operation]]:
    """Map from tool id to the overloads of the operation."""
    operations, short_names = types.service.operations, _short_names(types)
    single = {(o.binding, o.name) for o in operations if not is_collection(o.binding)}
    found: dict[str, list[Operation]] = {}
    for operation in operations:
        bound = item_type(operation.binding)
        parts = [short_names.get(bound, bound)] if bound else []
        if bound != operation.binding and (bound, operation.name) in single:
            parts.append("collection")
        found.setdefault(".".join([*parts, operation.name]), []).append(operation)
    return found


def _collections(resources: Sequence[Resource]) -> dict[str, Resource]:
    """Map from type to the only collection of its entities: the only entity set, else the only contained collection."""
    found: dict[str, Resource] = {}
    for contained in (False, True):
        candidates = [r for r in resources if bool(r.owner) is contained and not r.single]
        counts = Counter(resource.type for resource in candidates)
        found |= {r.type: r for r in candidates if counts[r.type] == 1 and r.type not in found}
    return found


def _tool(types: ServiceTypes, id_: str, overloads: Sequence[Operation], collections: Mapping[str, Resource]) -> Tool:
    first = overloads[0]
    bound = item_type(first.binding)
    noun = name_words(bound.rpartition(".")[2].removesuffix("Type")) if bound else ""
    inputs = _inputs(overloads)
    keys = types.keys(bound) if bound and bound == first.binding else []
    names = [key_name(key.name, noun, frozenset(p.name for p in inputs)) for key in keys]
    location = "query" if first.method == "GET" else "body"
    verb = title_of(first.name)
    kind = "Function of" if first.method == "GET" else "Action on"
    text = f"{verb}. {kind} {with_article(noun)}" if noun else verb
    collection = collections.get(bound)
    return Tool(
        id=id_,
        name=id_,
        description=sentences(text, *dict.fromkeys(o.description for o in overloads if o.description)),
        parameters=(
            *(key_parameter(types, key, name, noun) for key, name in zip(keys, names, strict=True)),
            *types.parameters(inputs, location=location, required=True),
        ),
        returns=_returns(types, next((o.returns for o in overloads if o.returns), "")),
        depends_on=key_dependencies(collection, keys, names, f"bound to {noun}") if collection else (),
        metadata={
            "title": f"{verb} ({noun})" if noun else verb,
            "entity": noun,
            "entity_type": bound,
            "method": first.method.upper(),
            "tags": [noun] if noun else [],
        },
    )


def _inputs(overloads: Sequence[Operation]) -> list[Property]:
    """Return the inputs of all overloads; an input is required when each overload requires it."""
    found: dict[str, Property] = {}
    for parameter in (p for operation in overloads for p in operation.parameters):
        found.setdefault(parameter.name, parameter)
    always = set.intersection(*({p.name for p in operation.parameters if p.required} for operation in overloads))
    return [replace(parameter, required=name in always) for name, parameter in found.items()]


def _returns(types: ServiceTypes, type_: str) -> tuple[Parameter, ...]:
    if not type_:
        return ()
    if types.is_structured(type_):
        prefix = "value[]." if is_collection(type_) else ""
        return types.parameters(types.properties(item_type(type_)), prefix=prefix)
    return (types.parameter(Property(name="value", type=type_)),)
