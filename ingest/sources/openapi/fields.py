"""The inputs of an OpenAPI operation: as flat parameters, and as one JSON Schema."""

from __future__ import annotations

from dataclasses import replace

from ingest.sources.call_inputs import CallInput, arguments_schema
from ingest.sources.json_schema.references import References
from ingest.sources.json_schema.schema import Fields, flatten
from ingest.sources.json_schema.self_contained import SelfContained, self_contained
from ingest.sources.openapi.http_request import HttpRequest
from ingest.sources.prose import plain

__all__ = ["input_schema_of", "inputs_of"]

_BODIES = frozenset({"body", "form"})


def inputs_of(request: HttpRequest, references: References) -> Fields:
    """The inputs of a request as flat parameters.

    :raises DocumentError: when a reference leads nowhere.
    """
    members = [each for each in request.inputs if each.argument.location in _BODIES and not each.argument.whole_body]
    parts = [_field(each, references) for each in request.inputs if each not in members]
    if members:
        parts.append(flatten(arguments_schema(members), lookup=references.lookup, location="body"))
    return Fields(
        parameters=tuple(parameter for part in parts for parameter in part.parameters),
        cut=any(part.cut for part in parts),
    )


def input_schema_of(request: HttpRequest, references: References) -> SelfContained:
    """The JSON Schema of the arguments of a request.

    :raises DocumentError: when a reference leads nowhere.
    """
    schema = arguments_schema(request.inputs)
    if request.values is not None:
        schema["additionalProperties"] = request.values
    return self_contained(schema, references.lookup, definitions=references.definitions)


def _field(each: CallInput, references: References) -> Fields:
    fields = flatten(arguments_schema([each]), lookup=references.lookup, location=each.argument.location)
    description = plain(each.description)
    if not fields.parameters or not description:
        return fields
    first, *rest = fields.parameters
    return Fields(parameters=(replace(first, description=description), *rest), cut=fields.cut)
