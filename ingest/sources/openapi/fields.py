"""The inputs and outputs of an OpenAPI operation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ingest.sources.json_schema.references import References
from ingest.sources.json_schema.schema import Fields, flatten
from ingest.sources.prose import plain
from ontology.errors import DocumentError
from ontology.tool import Parameter

__all__ = ["inputs_of", "outputs_of", "success_responses"]

# Set by the protocol, not by whoever calls: OpenAPI says to ignore parameters of these names.
_PROTOCOL_HEADERS = frozenset({"accept", "content-type", "authorization"})
_JSON = re.compile(r"^application/json\b|\+json\b|^text/json\b", re.IGNORECASE)
_SUCCESS = re.compile(r"^2(\d\d|XX)$", re.IGNORECASE)


def inputs_of(item: Mapping[str, Any], body: Mapping[str, Any], references: References) -> Fields:
    """Inputs from path, query, header and body; cookies belong to the session, not to the caller.

    :raises DocumentError: when a reference leads nowhere or a parameter has no name.
    """
    declared: dict[tuple[str, str], Mapping[str, Any]] = {}
    for holder in (item, body):
        parameters = holder.get("parameters")
        for node in parameters if isinstance(parameters, list) else ():
            parameter = references.resolve(node)
            name, location = parameter.get("name"), parameter.get("in")
            if not isinstance(name, str) or not name.strip():
                raise DocumentError("a parameter has no name", subject="parameters", remedy="Give it a name")
            declared[name.strip(), str(location)] = parameter
    taken: list[Parameter] = []
    cut = False
    for (name, location), parameter in declared.items():
        fields = _parameter(name, location, parameter, references)
        taken += fields.parameters
        cut |= fields.cut
    request = references.resolve(body.get("requestBody"))
    if request:
        fields = _body(_media_schema(request), plain(_text(request)), request.get("required") is True, references)
        taken += fields.parameters
        cut |= fields.cut
    return Fields(parameters=tuple(dict.fromkeys(taken)), cut=cut)


def outputs_of(body: Mapping[str, Any], references: References) -> Fields:
    """The fields of the success answer: the first of 200, 201, other 2xx, ``default`` that has a schema.

    :raises DocumentError: when a reference leads nowhere.
    """
    for _, response in success_responses(body, references):
        schema = response.get("schema") if "schema" in response else _media_schema(response)
        if isinstance(schema, Mapping) and schema:
            return flatten(schema, lookup=references.lookup, output=True)
    return Fields(parameters=())


def success_responses(body: Mapping[str, Any], references: References) -> list[tuple[str, Mapping[str, Any]]]:
    """The success answers by status, the most usual first.

    :raises DocumentError: when a reference leads nowhere.
    """
    responses = body.get("responses")
    if not isinstance(responses, Mapping):
        return []
    codes = sorted((str(code) for code in responses if _SUCCESS.match(str(code))), key=str.upper)
    return [
        (code, references.resolve(responses.get(code, responses.get(int(code) if code.isdigit() else code))))
        for code in (*codes, *(["default"] if "default" in responses else []))
    ]


def _parameter(name: str, location: str, parameter: Mapping[str, Any], references: References) -> Fields:
    if location == "body":  # Swagger 2.0
        schema = parameter.get("schema")
        return _body(schema, plain(_text(parameter)), parameter.get("required") is True, references)
    if location not in {"path", "query", "header", "formData"}:
        return Fields(parameters=())
    if location == "header" and name.lower() in _PROTOCOL_HEADERS:
        return Fields(parameters=())
    schema = parameter.get("schema") or _media_schema(parameter) or parameter
    needed = parameter.get("required") is True or location == "path"
    wrapped = {
        "type": "object",
        "properties": {name: _without_flag(schema)},
        "required": [name] if needed else [],
    }
    fields = flatten(wrapped, lookup=references.lookup, location="body" if location == "formData" else location)
    description = plain(_text(parameter))
    if not fields.parameters or not description:
        return fields
    first, *rest = fields.parameters
    return Fields(parameters=(replace(first, description=description), *rest), cut=fields.cut)


def _without_flag(schema: Any) -> Any:
    """A Swagger 2.0 parameter is its own schema, but its ``required`` is a flag, not a list of fields."""
    if isinstance(schema, Mapping) and "in" in schema:
        return {key: value for key, value in schema.items() if key not in {"required", "name", "in"}}
    return schema


def _body(schema: Any, description: str, required: bool, references: References) -> Fields:
    if not isinstance(schema, Mapping):
        return Fields(parameters=())
    fields = flatten(schema, lookup=references.lookup, location="body", required=required)
    if fields.parameters:
        return fields
    whole = Parameter(name="body", type="object", description=description, required=required, location="body")
    return Fields(parameters=(whole,))


def _media_schema(holder: Mapping[str, Any]) -> Any:
    """The schema of the JSON media type, else of the first media type that has one."""
    content = holder.get("content")
    if not isinstance(content, Mapping):
        return None
    media = [(str(name), inner) for name, inner in content.items() if isinstance(inner, Mapping) and "schema" in inner]
    media.sort(key=lambda pair: not _JSON.search(pair[0]))
    return media[0][1]["schema"] if media else None


def _text(holder: Mapping[str, Any]) -> str:
    value = holder.get("description")
    return value if isinstance(value, str) else ""
