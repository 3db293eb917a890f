"""The functions and actions of an OData service as operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from egotools.call import Argument
from ingest.sources.odata.model import ODataOperation, Property, is_collection, item_type
from ingest.sources.odata.resources import Resource, entity_noun, key_dependencies, key_name, key_path
from ingest.sources.odata.tools import body_inputs, call_of, first_of_each_name, literal_input
from ingest.sources.odata.types import ServiceTypes
from ingest.sources.operation import CallInput, Operation, Output
from ingest.sources.prose import sentences, title_of, with_article


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


def collections_of(resources: Sequence[Resource]) -> dict[str, Resource]:
    """Map from type to the only collection of its entities: the only entity set, else the only contained collection."""
    found: dict[str, Resource] = {}
    for contained in (False, True):
        candidates = [each for each in resources if bool(each.owner) is contained and not each.single]
        counts = Counter(each.type for each in candidates)
        found |= {each.type: each for each in candidates if counts[each.type] == 1 and each.type not in found}
    return found


def overloads_of(types: ServiceTypes) -> dict[str, list[ODataOperation]]:
    """Map from tool id to the overloads with one binding. The id of a bound operation begins with its entity: ``message.reply``."""
    operations, short_names = types.service.operations, _short_names(types)
    single = {(each.binding, each.name) for each in operations if not is_collection(each.binding)}
    found: dict[str, list[ODataOperation]] = {}
    for operation in operations:
        bound = item_type(operation.binding)
        parts = [short_names.get(bound, bound)] if bound else []
        if bound != operation.binding and (bound, operation.name) in single:
            parts.append("collection")
        found.setdefault(".".join([*parts, operation.name]), []).append(operation)
    return found


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


def operation_of(
    types: ServiceTypes,
    id_: str,
    overloads: Sequence[ODataOperation],
    collections: Mapping[str, Resource],
    places: Mapping[str, Resource],
) -> Operation:
    """The overloads of one operation, with the inputs of all; without a call where no path of the service leads to the bound type.

    :param collections: as :func:`collections_of` returns them.
    :param places: as :func:`places_of` returns them.
    :raises DocumentError: when a type is not defined.
    """
    first, service = overloads[0], types.service
    bound, parameters = item_type(first.binding), _parameters(overloads)
    noun, verb = entity_noun(bound) if bound else "", title_of(first.name)
    place, collection = places.get(bound) if bound else None, collections.get(bound)
    own = types.keys(place.type if place else bound) if bound and bound == first.binding else []
    if place is not None and place.single:
        own = []
    keys = _own_keys(own, entity_noun(place.type) if place else noun, parameters, place.taken if place else frozenset())
    names = [key.name for key in keys]
    given, signature = _given(types, first, parameters)
    shown = (
        "query" if first.method == "GET" else "body"
    )  # as the parameters are meant, wherever the protocol writes them
    given = [replace(each, shown=shown) for each in given]
    path = None if bound and place is None else f"/{first.name}{signature}"
    if place is not None:
        below = place.path if not own else key_path(place.path, [key.name for key in own], names)
        path = f"{below}/{first.qualified or first.name}{signature}"
    owners = place.owner_keys if place is not None else ()
    inputs = first_of_each_name([*(literal_input(types, key, "path") for key in (*owners, *keys)), *given])
    kind = "Function of" if first.method == "GET" else "Action on"
    text = f"{verb}. {kind} {with_article(noun)}" if noun else verb
    returns = next((each.returns for each in overloads if each.returns), "")
    return Operation(
        id=id_,
        description=sentences(text, *dict.fromkeys(each.description for each in overloads if each.description)),
        inputs=inputs,
        output=_output(types, returns, first.name) if returns else None,
        depends_on=key_dependencies(collection, own, names, f"bound to {noun}") if collection else (),
        metadata={
            "title": f"{verb} ({noun})" if noun else verb,
            "entity": noun,
            "entity_type": bound,
            "method": first.method.upper(),
            "tags": [noun] if noun else [],
        },
        call=None if path is None else call_of(service, first.method.upper(), path, inputs),
    )


def _parameters(overloads: Sequence[ODataOperation]) -> list[Property]:
    """Return the inputs of all overloads; an input is required when each overload requires it."""
    found: dict[str, Property] = {}
    for parameter in (each for operation in overloads for each in operation.parameters):
        found.setdefault(parameter.name, parameter)
    always = set.intersection(*({each.name for each in one.parameters if each.required} for one in overloads))
    return [replace(parameter, required=name in always) for name, parameter in found.items()]


def _own_keys(
    keys: Sequence[Property], noun: str, parameters: Sequence[Property], owners: frozenset[str]
) -> list[Property]:
    """The keys of the bound entity under the names of the tool's inputs."""
    taken = frozenset(each.name for each in parameters)
    names = (key_name(key.name, noun, taken) for key in keys)
    return [
        replace(
            key,
            name=f"{name}_2" if name in owners else name,
            required=True,
            description=key.description or f"{key.name} of the {noun}",
        )
        for key, name in zip(keys, names, strict=True)
    ]


def _given(
    types: ServiceTypes, operation: ODataOperation, parameters: Sequence[Property]
) -> tuple[list[CallInput], str]:
    """The inputs of the parameters, and what stands after the name in the path."""
    if types.service.version == "v2":
        return [literal_input(types, each, "query") for each in parameters], ""
    if operation.method != "GET":
        return list(body_inputs({each.name: types.value(each) for each in parameters}, parameters)), ""
    inputs: list[CallInput] = []
    written: list[str] = []
    for each in parameters:
        if is_collection(each.type) or types.is_structured(each.type):  # JSON, by an alias
            argument = Argument(name=each.name, location="query", wire_name=f"@{each.name}", style="json")
            inputs.append(CallInput(argument=argument, schema=types.value(each), required=each.required))
            written.append(f"{each.name}=@{each.name}")
        elif each.required:
            inputs.append(literal_input(types, each, "path"))
            written.append(f"{each.name}={{{each.name}}}")
        else:
            inputs.append(literal_input(types, each, "query"))
    return inputs, f"({','.join(written)})"


def _output(types: ServiceTypes, type_: str, name: str) -> Output:
    whole = types.answer(type_, name)
    if types.is_structured(type_):
        return Output({"$ref": item_type(type_)}, whole, "value[]." if is_collection(type_) else "")
    return Output({"type": "object", "properties": {"value": types.value(Property(name="value", type=type_))}}, whole)
