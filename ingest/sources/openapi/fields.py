"""The inputs and outputs of an OpenAPI operation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ingest.sources.json_schema.references import References
from ingest.sources.json_schema.schema import Fields, flatten
from ingest.sources.json_values import as_list, as_mapping, as_text
from ingest.sources.prose import plain
from ontology.errors import DocumentError
from ontology.tool import Parameter

__all__ = ["inputs_of", "outputs_of", "success_responses"]

# HTTP headers that the protocol sets, not the caller. OpenAPI requires that parameters with these names are ignored.
_PROTOCOL_HEADERS = frozenset({"accept", "content-type", "authorization"})
_LOCATIONS = frozenset({"path", "query", "header", "formData"})
_JSON = re.compile(r"^application/json\b|\+json\b|^text/json\b", re.IGNORECASE)
_SUCCESS = re.compile(r"^2(\d\d|XX)$", re.IGNORECASE)


def inputs_of(item: Mapping[str, Any], body: Mapping[str, Any], references: References) -> Fields:
    """Return the inputs of path, query, header and body; cookies are left out, because the session sets them.

    :raises DocumentError: when a reference cannot be resolved or a parameter has no name.
    """
    parts = list(_inputs(item, body, references))
    parameters = dict.fromkeys(parameter for part in parts for parameter in part.parameters)
    return Fields(parameters=tuple(parameters), cut=any(part.cut for part in parts))


def _inputs(item: Mapping[str, Any], body: Mapping[str, Any], references: References) -> Iterator[Fields]:
    declared: dict[tuple[str, str], Mapping[str, Any]] = {}
    for node in (*as_list(item.get("parameters")), *as_list(body.get("parameters"))):
        parameter = references.resolve(node)
        name = as_text(parameter.get("name")).strip()
        if not name:
            problem = "a parameter has no name"
            raise DocumentError(problem, subject="parameters", remedy="Give it a name", reason="wrong-type")
        declared[name, str(parameter.get("in"))] = parameter
    for (name, location), parameter in declared.items():
        if location == "body":  # Swagger 2.0
            yield _body(parameter.get("schema"), parameter, references)
        elif location in _LOCATIONS and not (location == "header" and name.lower() in _PROTOCOL_HEADERS):
            yield _parameter(name, location, parameter, references)
    request = references.resolve(body.get("requestBody"))
    if request:
        yield _body(_media_schema(request), request, references)


def outputs_of(body: Mapping[str, Any], references: References) -> Fields:
    """Return the fields of the first success response (200, 201, other 2xx, ``default``) that has a schema.

    :raises DocumentError: when a reference cannot be resolved.
    """
    for _, response in success_responses(body, references):
        schema = response.get("schema") if "schema" in response else _media_schema(response)
        if isinstance(schema, Mapping) and schema:
            return flatten(schema, lookup=references.lookup, output=True)
    return Fields()


def success_responses(body: Mapping[str, Any], references: References) -> list[tuple[str, Mapping[str, Any]]]:
    """Return ``(status, response)`` of the success responses, sorted by status, ``default`` last.

    :raises DocumentError: when a reference cannot be resolved.
    """
    responses = as_mapping(body.get("responses"))
    by_code = {str(code): response for code, response in responses.items()}
    codes = sorted((code for code in by_code if _SUCCESS.match(code)), key=str.upper)
    default = ["default"] if "default" in responses else []
    return [(code, references.resolve(by_code[code])) for code in (*codes, *default)]


def _parameter(name: str, location: str, parameter: Mapping[str, Any], references: References) -> Fields:
    required = parameter.get("required") is True or location == "path"
    schema = parameter.get("schema") or _media_schema(parameter) or parameter
    wrapped = {
        "type": "object",
        "properties": {name: _without_flag(schema)},
        "required": [name] if required else [],
    }
    fields = flatten(wrapped, lookup=references.lookup, location="body" if location == "formData" else location)
    description = plain(as_text(parameter.get("description")))
    if not fields.parameters or not description:
        return fields
    first, *rest = fields.parameters
    return Fields(parameters=(replace(first, description=description), *rest), cut=fields.cut)


def _without_flag(schema: Any) -> Any:
    """Remove the keys that are not of the schema: in Swagger 2.0 a parameter is its own schema, with a boolean ``required``."""
    if isinstance(schema, Mapping) and "in" in schema:
        return {key: value for key, value in schema.items() if key not in {"required", "name", "in"}}
    return schema


def _body(schema: Any, holder: Mapping[str, Any], references: References) -> Fields:
    """Return the fields of a request body; a body without fields is one input."""
    if not isinstance(schema, Mapping):
        return Fields()
    required = holder.get("required") is True
    fields = flatten(schema, lookup=references.lookup, location="body", required=required)
    if fields.parameters:
        return fields
    description = plain(as_text(holder.get("description")))
    whole = Parameter(name="body", type="object", description=description, required=required, location="body")
    return Fields(parameters=(whole,))


def _media_schema(holder: Mapping[str, Any]) -> Any:
    """Return the schema of the JSON media type, else of the first media type with a schema, else None."""
    media = [
        (str(name), inner["schema"])
        for name, inner in as_mapping(holder.get("content")).items()
        if isinstance(inner, Mapping) and "schema" in inner
    ]
    media.sort(key=lambda pair: not _JSON.search(pair[0]))
    return media[0][1] if media else None
