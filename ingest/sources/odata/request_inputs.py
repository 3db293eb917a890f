"""The request of an OData tool: its inputs, each with its place and its JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from egotools.call import Argument, Call
from ingest.sources.call_inputs import CallInput, arguments_schema
from ingest.sources.json_schema.self_contained import SelfContained
from ingest.sources.odata.csdl import Property
from ingest.sources.odata.edm_schemas import EdmSchemas
from ontology.tool import Parameter

__all__ = [
    "body_inputs",
    "call_of",
    "filter_inputs",
    "first_of_each_name",
    "input_schema_of",
    "key_inputs",
    "option_inputs",
    "parameter_inputs",
]

_JSON = "application/json"
_COUNTS = ("$top", "$skip")


def key_inputs(schemas: EdmSchemas, keys: Iterable[Property]) -> list[CallInput]:
    """Keys of entities, as parts of the path; the type of each says how its literal is written."""
    return [_literal(schemas, key, "path", required=True) for key in keys]


def filter_inputs(schemas: EdmSchemas, properties: Iterable[Property]) -> list[CallInput]:
    """Properties to compare with, which the request joins to one ``$filter``."""
    return [_literal(schemas, each, "filter") for each in properties]


def option_inputs(options: Iterable[Parameter]) -> list[CallInput]:
    """Query options: ``$select``, ``$top``, …"""
    return [
        CallInput(
            argument=Argument(name=option.name, location="query"),
            schema={
                "type": option.type,
                **({"minimum": 0} if option.name in _COUNTS else {}),
                "description": option.description,
            },
        )
        for option in options
    ]


def parameter_inputs(schemas: EdmSchemas, parameters: Iterable[Property], location: str) -> list[CallInput]:
    """Parameters of a function, as literals of the URL."""
    return [_literal(schemas, each, location, required=each.required) for each in parameters]


def body_inputs(fields: Mapping[str, Mapping[str, Any]], required: Iterable[str] = ()) -> list[CallInput]:
    """Members of a JSON body."""
    needed = frozenset(required)
    return [
        CallInput(argument=Argument(name=name, location="body"), schema=schema, required=name in needed)
        for name, schema in fields.items()
    ]


def input_schema_of(schemas: EdmSchemas, inputs: Sequence[CallInput]) -> SelfContained:
    """The JSON Schema of the arguments.

    :raises DocumentError: when a type is not defined.
    """
    return schemas.alone(arguments_schema(inputs))


def call_of(method: str, path: str, inputs: Sequence[CallInput], *, version: str, servers: tuple[str, ...]) -> Call:
    """The call of a tool.

    :param version: ``v2`` or ``v4``.
    """
    has_body = any(each.argument.location == "body" for each in inputs)
    return Call(
        protocol="odata",
        service=version,
        servers=servers,
        method=method,
        path=path,
        media_type=_JSON if has_body else "",
        accept=_JSON,
        arguments=tuple(each.argument for each in inputs),
    )


def first_of_each_name(inputs: Iterable[CallInput]) -> list[CallInput]:
    """Of two inputs of one name the first: a key that stands in the path twice, a field of the body that the path states."""
    found: dict[str, CallInput] = {}
    for each in inputs:
        found.setdefault(each.argument.name, each)
    return list(found.values())


def _literal(schemas: EdmSchemas, property_: Property, location: str, *, required: bool = False) -> CallInput:
    return CallInput(
        argument=Argument(name=property_.name, location=location, style=schemas.edm_type(property_.type)),
        schema=schemas.value(property_, literal=True, nullable=False),
        required=required,
    )
