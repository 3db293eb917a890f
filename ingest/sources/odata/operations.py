"""Function imports, functions and actions of an OData service as tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ingest.sources.odata.csdl import Operation, Property
from ingest.sources.odata.fields import DanglingTypeError, TypeBook, a, item_type, words
from ingest.sources.odata.resources import Resource, key_name
from ingest.sources.prose import sentences
from ingest.sources.source import RejectedRecord
from ontology.tool import Dependency, Parameter, Tool

__all__ = ["operation_tools"]


def operation_tools(book: TypeBook, resources: Sequence[Resource], address: str) -> Iterator[Tool | RejectedRecord]:
    """One tool for each operation; overloads with the same binding are one tool that takes the inputs of all.

    A bound operation is called after the entity that it works on, ``message.reply``.
    """
    labels = _labels(book)
    homes = _homes(resources)
    for id_, overloads in _grouped(book.service.operations, labels).items():
        try:
            yield _tool(book, id_, overloads, homes)
        except DanglingTypeError as error:
            detail = f"The type {str(error)!r} is named and defined nowhere; define it in the document."
            yield RejectedRecord(subject=f"{address}#{id_}", reason="dangling-type", detail=detail)


def _labels(book: TypeBook) -> dict[str, str]:
    """Short name by qualified type; types of one short name keep what sets their namespaces apart."""
    counts = Counter(name.rpartition(".")[2] for name in book.service.types)
    spaces = [name.split(".")[:-1] for name in book.service.types]
    columns = zip(*spaces, strict=False)
    common = next(
        (depth for depth, column in enumerate(columns) if len(set(column)) > 1), min(map(len, spaces), default=0)
    )
    return {
        name: short if counts[short := name.rpartition(".")[2]] == 1 else ".".join(name.split(".")[common:])
        for name in book.service.types
    }


def _grouped(operations: Sequence[Operation], labels: dict[str, str]) -> dict[str, list[Operation]]:
    single = {(o.binding, o.name) for o in operations if not o.binding.startswith("Collection(")}
    found: dict[str, list[Operation]] = {}
    for operation in operations:
        bound = item_type(operation.binding)
        id_ = f"{labels.get(bound, bound)}.{operation.name}" if bound else operation.name
        if bound != operation.binding and (bound, operation.name) in single:
            id_ = f"{labels.get(bound, bound)}.collection.{operation.name}"
        found.setdefault(id_, []).append(operation)
    return found


def _homes(resources: Sequence[Resource]) -> dict[str, Resource]:
    """The one collection where entities of a type are found: among the sets, else among what they contain."""
    homes: dict[str, Resource] = {}
    for level in (False, True):
        candidates = [r for r in resources if bool(r.owner) is level and not r.single]
        counts = Counter(resource.type for resource in candidates)
        homes |= {r.type: r for r in candidates if counts[r.type] == 1 and r.type not in homes}
    return homes


def _tool(book: TypeBook, id_: str, overloads: list[Operation], homes: dict[str, Resource]) -> Tool:
    first = overloads[0]
    bound = item_type(first.binding)
    noun = words(bound.rpartition(".")[2].removesuffix("Type")) if bound else ""
    inputs = _merged(overloads)
    keys = book.keys(bound) if bound and bound == first.binding else []
    names = [key_name(key.name, noun, frozenset(p.name for p in inputs)) for key in keys]
    location = "query" if first.method == "GET" else "body"
    verb = words(first.name)
    verb = verb[:1].upper() + verb[1:]
    kind = "Function of" if first.method == "GET" else "Action on"
    text = f"{verb}. {kind} {a(noun)}" if noun else verb
    home = homes.get(bound)
    needs = (
        Dependency(tool=f"query_{home.id}", parameter=name, output=f"value[].{key.name}", reason=f"bound to {noun}")
        for key, name in zip(keys, names, strict=True)
        if home is not None
    )
    return Tool(
        id=id_,
        name=id_,
        description=sentences(text, *dict.fromkeys(o.description for o in overloads if o.description)),
        parameters=(
            *(_key(book, key, name, noun) for key, name in zip(keys, names, strict=True)),
            *book.parameters(inputs, location=location, needed=True),
        ),
        returns=_returns(book, next((o.returns for o in overloads if o.returns), "")),
        depends_on=tuple(needs),
        metadata={
            "title": f"{verb} ({noun})" if noun else verb,
            "entity": noun,
            "entity_type": bound,
            "method": first.method.upper(),
            "tags": [noun] if noun else [],
        },
    )


def _key(book: TypeBook, key: Property, name: str, noun: str) -> Parameter:
    parameter = book.parameter(replace(key, required=True), location="path", required=True, name=name)
    return replace(parameter, description=parameter.description or f"{key.name} of the {noun}")


def _merged(overloads: list[Operation]) -> list[Property]:
    """The inputs of all overloads; one is required when each overload requires it."""
    found: dict[str, Property] = {}
    for parameter in (p for operation in overloads for p in operation.parameters):
        found.setdefault(parameter.name, parameter)
    needed = [{p.name for p in operation.parameters if p.required} for operation in overloads]
    always = set.intersection(*needed)
    return [replace(parameter, required=name in always) for name, parameter in found.items()]


def _returns(book: TypeBook, type_: str) -> tuple[Parameter, ...]:
    if not type_:
        return ()
    many = type_.startswith("Collection(")
    if book.is_structured(type_):
        return book.parameters(book.properties(item_type(type_)), prefix="value[]." if many else "")
    return (book.parameter(Property(name="value", type=type_)),)
