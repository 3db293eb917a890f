"""The inputs and outputs of an OpenAPI operation: as flat parameters, and as the JSON Schemas of the document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ingest.sources.call_inputs import CallInput, arguments_schema
from ingest.sources.json_schema.references import References
from ingest.sources.json_schema.schema import Fields, flatten
from ingest.sources.json_schema.self_contained import SelfContained, self_contained
from ingest.sources.json_values import as_mapping
from ingest.sources.openapi.http_request import HttpRequest, media_type_of
from ingest.sources.prose import plain

__all__ = ["input_schema_of", "inputs_of", "output_schema_of", "outputs_of", "success_responses"]

_BODIES = frozenset({"body", "form"})
_SUCCESS = re.compile(r"^2(\d\d|XX)$", re.IGNORECASE)


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
    return self_contained(schema, references.lookup)


def outputs_of(body: Mapping[str, Any], references: References) -> Fields:
    """The fields of the success answer as flat parameters.

    :raises DocumentError: when a reference leads nowhere.
    """
    schema = _success_schema(body, references)
    return flatten(schema, lookup=references.lookup, output=True) if schema else Fields()


def output_schema_of(body: Mapping[str, Any], references: References) -> SelfContained | None:
    """The JSON Schema of the success answer; None where the document has none.

    :raises DocumentError: when a reference leads nowhere.
    """
    schema = _success_schema(body, references)
    return self_contained(schema, references.lookup, output=True) if schema else None


def success_responses(body: Mapping[str, Any], references: References) -> list[tuple[str, Mapping[str, Any]]]:
    """The success answers by status, in the order of the statuses, ``default`` last.

    :raises DocumentError: when a reference leads nowhere.
    """
    responses = as_mapping(body.get("responses"))
    by_code = {str(code): response for code, response in responses.items()}
    codes = sorted((code for code in by_code if _SUCCESS.match(code)), key=str.upper)
    default = ["default"] if "default" in responses else []
    return [(code, references.resolve(by_code[code])) for code in (*codes, *default)]


def _success_schema(body: Mapping[str, Any], references: References) -> Mapping[str, Any] | None:
    """The schema of the first of 200, 201, other 2xx, ``default`` that has one."""
    for _, response in success_responses(body, references):
        schema = response.get("schema") if "schema" in response else media_type_of(response).schema
        if isinstance(schema, Mapping) and schema:
            return schema
    return None


def _field(each: CallInput, references: References) -> Fields:
    fields = flatten(arguments_schema([each]), lookup=references.lookup, location=each.argument.location)
    description = plain(each.description)
    if not fields.parameters or not description:
        return fields
    first, *rest = fields.parameters
    return Fields(parameters=(replace(first, description=description), *rest), cut=fields.cut)
