"""The source ``odata.v1``: EDMX/CSDL documents of OData v2 and v4 services.

An entity set S has the tools ``query_S``, ``read_S``, ``create_S``, ``update_S`` and ``delete_S``, if its capabilities allow them; a
singleton has ``read_S`` and ``update_S``; a contained collection N has ``query_S_N``, …; what is contained deeper is found and read
only, a linked collection is found only. Functions and actions are tools too. Navigation properties
become dependencies (:mod:`ingest.sources.odata.resources`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from egotools.call import Argument
from ingest.sources.document import Document
from ingest.sources.odata.edmx import parse_edmx
from ingest.sources.odata.resources import find_resources, key_dependencies, key_path, named_keys
from ingest.sources.odata.tools import (
    body_inputs,
    call_of,
    declared_dependencies,
    first_of_each_name,
    literal_input,
    resource_operation,
    verbs_of,
)
from ingest.sources.odata.types import (
    ODataOperation,
    Property,
    Resource,
    Service,
    entity_noun,
    is_collection,
    item_type,
)
from ingest.sources.operation import CallInput, Operation, Output, Schemas
from ingest.sources.prose import sentences, title_of, with_article
from ingest.sources.source import RejectedRecord, Source
from ontology.tool import Tool

_ROOT = re.compile(r"<(?:[\w.-]+:)?Edmx\b|<Schema\b[^>]*(?:schemas\.microsoft\.com/ado|docs\.oasis-open\.org/odata)")


class ODataSource(Source):
    """Reader of EDMX and CSDL files, and of ``$metadata`` addresses."""

    name = "odata.v1"

    def accepts(self, document: Document) -> bool:
        """Whether the ending is ``.edmx`` or ``.csdl``, or the file begins with an Edmx or an OData Schema element."""
        return document.suffix in {".edmx", ".csdl"} or bool(_ROOT.search(document.head.replace("\0", "")))

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield the tools of all entity sets, those of the operations, those of nested entities, then the rejected records."""
        types = parse_edmx(document)
        schemas = Schemas(partial(types.entity, expanded=False))
        found, nested, left_out = find_resources(types)
        items: list[Tool | RejectedRecord] = []

        def add(id_: str, read: Callable[..., Operation], *values: Any) -> None:
            items.extend(schemas.tools(f"{document.address}#{id_}", partial(read, types, *values)))

        for resource in found:
            for verb in verbs_of(resource):
                add(f"{verb}_{resource.id}", resource_operation, resource, verb)
        collections, places = _collections_of(found), _places_of(types, [*found, *nested])
        for id_, overloads in _overloads_of(types).items():
            add(id_, _operation_of, id_, overloads, collections, places)
        for resource in nested:
            for verb in verbs_of(resource):
                add(f"{verb}_{resource.id}", resource_operation, resource, verb)
        depends_on = declared_dependencies(types, found, [item for item in items if isinstance(item, Tool)])
        for item in items:
            if isinstance(item, Tool):
                metadata = {**item.metadata, "service": types.namespace}
                item = replace(item, depends_on=depends_on[item.id], metadata=metadata)
            yield item
        for id_ in left_out:
            detail = "The document contains more nested collections than are read; this one has no tools."
            yield RejectedRecord(f"{document.address}#{id_}", "too-many-contained", detail)


def _places_of(types: Service, resources: Sequence[Resource]) -> Mapping[str, Resource]:
    """Map from entity type to the resource below which its operations are called: the one that needs the fewest keys. A
    collection goes before a single entity, which is only one of many. A type without a resource of its own has that of
    a type derived from it, with the keys under its own name where it states them."""
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


def _collections_of(resources: Sequence[Resource]) -> dict[str, Resource]:
    """Map from type to the only collection of its entities: the only entity set, else the only contained collection."""
    found: dict[str, Resource] = {}
    for contained in (False, True):
        candidates = [each for each in resources if bool(each.owner) is contained and not each.single]
        counts = Counter(each.type for each in candidates)
        found |= {each.type: each for each in candidates if counts[each.type] == 1 and each.type not in found}
    return found


def _overloads_of(types: Service) -> dict[str, list[ODataOperation]]:
    """Map from tool id, ``message.reply`` where bound to an entity, to overloads; entities of one name have their namespaces."""
    operations = types.operations
    counts = Counter(name.rpartition(".")[2] for name in types.types)
    single = {(each.binding, each.name) for each in operations if not is_collection(each.binding)}
    found: dict[str, list[ODataOperation]] = {}
    for operation in operations:
        bound = item_type(operation.binding)
        short = bound.rpartition(".")[2]
        parts = [bound.removeprefix(f"{types.namespace}.") if counts[short] > 1 else short] if bound else []
        if bound != operation.binding and (bound, operation.name) in single:
            parts.append("collection")
        found.setdefault(".".join([*parts, operation.name]), []).append(operation)
    return found


def _operation_of(
    types: Service,
    id_: str,
    overloads: Sequence[ODataOperation],
    collections: Mapping[str, Resource],
    places: Mapping[str, Resource],
) -> Operation:
    """The overloads of one operation, with the inputs of all; without a call where no path of the service leads to the bound type."""
    first, bound, parameters = overloads[0], item_type(overloads[0].binding), _parameters_of(overloads)
    noun, verb = entity_noun(bound) if bound else "", title_of(first.name)
    place, collection = places.get(bound) if bound else None, collections.get(bound)
    own = types.keys(place.type if place else bound) if bound and bound == first.binding else []
    if place is not None and place.single:
        own = []
    taken = {each.name for each in parameters} | (place.taken if place else set())
    keys = named_keys(own, place.noun if place else noun, taken, place.name if place else noun)
    given, signature = _given(types, first, parameters)
    # As the parameters are meant, wherever the protocol writes them.
    given = [replace(each, shown="query" if first.method == "GET" else "body") for each in given]
    path = None if bound and place is None else f"/{first.name}{signature}"
    if place is not None:
        below = key_path(place.path, own, keys) if own else place.path
        path = f"{below}/{first.qualified or first.name}{signature}"
    owners = place.owner_keys if place is not None else ()
    inputs = first_of_each_name([*(literal_input(types, key, "path") for key in (*owners, *keys)), *given])
    kind = "Function of" if first.method == "GET" else "Action on"
    text = f"{verb}. {kind} {with_article(noun)}" if noun else verb
    output: Output | None = None
    if returns := next((each.returns for each in overloads if each.returns), ""):
        whole = types.answer(returns, first.name)
        if types.is_structured(returns):
            output = Output({"$ref": item_type(returns)}, whole, "value[]." if is_collection(returns) else "")
        else:
            value = types.value(Property(name="value", type=returns))
            output = Output({"type": "object", "properties": {"value": value}}, whole)
    return Operation(
        id=id_,
        description=sentences(text, *dict.fromkeys(each.description for each in overloads if each.description)),
        inputs=inputs,
        output=output,
        depends_on=key_dependencies(collection, own, keys, f"bound to {noun}") if collection else (),
        metadata={
            "title": f"{verb} ({noun})" if noun else verb,
            "entity": noun,
            "entity_type": bound,
            "method": first.method.upper(),
            "tags": [noun] if noun else [],
        },
        call=None if path is None else call_of(types, first.method.upper(), path, inputs),
    )


def _parameters_of(overloads: Sequence[ODataOperation]) -> list[Property]:
    """Return the inputs of all overloads; an input is required when each overload requires it."""
    stated: dict[str, Property] = {}
    for parameter in (each for overload in overloads for each in overload.parameters):
        stated.setdefault(parameter.name, parameter)
    always = set.intersection(*({each.name for each in one.parameters if each.required} for one in overloads))
    return [replace(parameter, required=name in always) for name, parameter in stated.items()]


def _given(types: Service, operation: ODataOperation, parameters: Sequence[Property]) -> tuple[list[CallInput], str]:
    """The inputs of the parameters, and what stands after the name in the path."""
    if types.version == "v2":
        return [literal_input(types, each, "query") for each in parameters], ""
    if operation.method != "GET":
        return list(body_inputs({each.name: types.value(each) for each in parameters}, parameters)), ""
    inputs: list[CallInput] = []
    written: list[str] = []
    for each in parameters:
        if is_collection(each.type) or types.is_structured(each.type):  # JSON, by an alias
            argument = Argument(name=each.name, location="query", wire_name=f"@{each.name}", style="json")
            inputs.append(CallInput(argument, types.value(each), each.required))
            written.append(f"{each.name}=@{each.name}")
        elif each.required:
            inputs.append(literal_input(types, each, "path"))
            written.append(f"{each.name}={{{each.name}}}")
        else:
            inputs.append(literal_input(types, each, "query"))
    return inputs, f"({','.join(written)})"
