"""Convert function imports, functions and actions of an OData service to tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ingest.sources.json_schema.cut_parts import cut_parts
from ingest.sources.odata.csdl import Operation, Property
from ingest.sources.odata.edm_schemas import EdmSchemas
from ingest.sources.odata.fields import ServiceTypes, is_collection, item_type, key_parameter
from ingest.sources.odata.operation_request import operation_request, places_of
from ingest.sources.odata.resource import Resource, key_dependencies, key_name
from ingest.sources.prose import name_words, sentences, title_of, with_article
from ingest.sources.source import RejectedRecord
from ontology.tool import Parameter, Tool

__all__ = ["operation_tools"]


def operation_tools(
    schemas: EdmSchemas, types: ServiceTypes, resources: Sequence[Resource], nested: Sequence[Resource], address: str
) -> Iterator[Tool | RejectedRecord]:
    """Yield one tool for each operation; overloads with the same binding are one tool with the inputs of all.

    The id of a bound operation begins with its entity: ``message.reply``.

    :param nested: resources that an operation may be called below, beside ``resources``.
    """
    collections, places = _collections(resources), places_of([*resources, *nested])
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
