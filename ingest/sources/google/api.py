"""The methods of one API of a discovery document as tools."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from egotools.call import Argument, Call, Security, SecurityScheme
from ingest.sources.json_schema.schema import Fields, flatten
from ingest.sources.json_schema.schema_view import dangling_reference
from ingest.sources.json_schema.self_contained import SelfContained, self_contained
from ingest.sources.json_values import as_list, as_mapping, as_text
from ingest.sources.prose import brief, name_words, plain, title_of
from ontology.tool import Parameter, Tool

__all__ = ["Api", "Method"]

_HOLDERS = ("items", "additionalProperties")
_REQUIRED = "x-required"
_OWNER = {"contact": "ownerName", "contact_host": "ownerDomain"}
_DESCRIPTION_CHARS = 600
_FIELD_CHARS = 300


@dataclass(frozen=True, slots=True)
class Method:
    """A method, with the names of the resources that lead to it."""

    resource: tuple[str, ...]
    name: str
    body: Mapping[str, Any]

    @property
    def path(self) -> str:
        """The names of the resources and of the method, joined by points."""
        return ".".join((*self.resource, self.name))


class Api:
    """One API; each of its schemas is flattened once for inputs and once for outputs."""

    def __init__(self, root: Mapping[str, Any], version: str) -> None:
        self.root = root
        self._version = version
        self._schemas = as_mapping(root.get("schemas"))
        self._typed: dict[str, Mapping[str, Any]] = {}
        self._known: dict[tuple[str, bool], Fields] = {}

    def tool(self, method: Method) -> Tool:
        """A method as a tool.

        :raises DocumentError: when a reference leads nowhere.
        """
        body = method.body
        own = as_text(body.get("id")) or f"{self.root.get('name', 'api')}.{method.path}"
        first, _, rest = own.partition(".")
        id_ = f"{first}.{self._version}.{rest}" if self._version else own
        response = self._fields(body.get("response"), output=True)
        url = self._url_parameters(body)
        members = self._members(body.get("request"), own, url)
        request = self._fields(body.get("request"), output=False)
        required = {name for name, row in members.items() if row.get(_REQUIRED) is True}
        flat = (_in_body(field, url, required) for field in request.parameters)
        fields = (*(self._url_parameter(name, row) for name, row in url.items()), *flat)
        input_schema = self_contained(_object({**url, **members}), self._lookup)
        output = as_text(as_mapping(body.get("response")).get("$ref"))
        output_schema = self_contained({"$ref": output}, self._lookup, output=True) if output else None
        parts: dict[str, Fields | SelfContained | None] = {
            "parameters": request,
            "returns": response,
            "input_schema": input_schema,
            "output_schema": output_schema,
        }
        return Tool(
            id=id_,
            name=id_,
            description=brief(plain(as_text(body.get("description"))), _DESCRIPTION_CHARS),
            parameters=fields,
            returns=response.parameters,
            metadata=self._metadata(method, [name for name, part in parts.items() if part is not None and part.cut]),
            input_schema=input_schema.schema,
            output_schema=output_schema.schema if output_schema else None,
            call=self._call(body, url, members),
        )

    def _call(self, body: Mapping[str, Any], url: Mapping[str, Any], members: Mapping[str, Any]) -> Call:
        """The call of a method: the URL template of ``path``, whose names are those of the parameters (``flatPath`` has others)."""
        root = as_text(self.root.get("rootUrl")).rstrip("/")
        base = f"{root}/{as_text(self.root.get('servicePath')).strip('/')}".rstrip("/")
        wire = {name: name.removeprefix("body_") if name.removeprefix("body_") in url else "" for name in members}
        return Call(
            protocol="http",
            servers=(base,) if root else (),
            method=str(body.get("httpMethod", "GET")),
            path="/" + as_text(body.get("path")).lstrip("/"),
            media_type="application/json" if members else "",
            accept="application/json",
            arguments=(
                *(Argument(name=name, location=_location(row)) for name, row in url.items()),
                *(Argument(name=name, location="body", wire_name=wire[name]) for name in members),
            ),
            security=tuple(_oauth(str(scope)) for scope in as_list(body.get("scopes"))),
        )

    def _members(self, reference: Any, method: str, url: Mapping[str, Any]) -> dict[str, Any]:
        """The members of a request body; one whose name the URL has too gets ``body_`` before it."""
        name = as_text(as_mapping(reference).get("$ref"))
        schema = as_mapping(self._lookup(name)) if name else {}
        required = self._required(schema, method)
        return {
            f"body_{key}" if key in url else key: {**as_mapping(row), **({_REQUIRED: True} if key in required else {})}
            for key, row in as_mapping(schema.get("properties")).items()
            if as_mapping(row).get("readOnly") is not True
        }

    def _fields(self, reference: Any, *, output: bool) -> Fields:
        """The fields of a request or a response."""
        name = as_mapping(reference).get("$ref")
        if not isinstance(name, str):
            return Fields()
        key = (name, output)
        if key not in self._known:
            location = "" if output else "body"
            fields = flatten({"$ref": name}, lookup=self._lookup, location=location, output=output)
            self._known[key] = Fields(parameters=_shortened(fields.parameters), cut=fields.cut)
        return self._known[key]

    def _required(self, schema: Mapping[str, Any], method: str) -> set[str]:
        """Names of the fields of a request that a method requires: annotated, or described as required."""
        return {
            name
            for name, field in as_mapping(schema.get("properties")).items()
            if method in as_list(as_mapping(as_mapping(field).get("annotations")).get("required"))
        }

    def _lookup(self, ref: str) -> Mapping[str, Any]:
        if ref not in self._typed:
            schema = self._schemas.get(ref)
            if not isinstance(schema, Mapping):
                raise dangling_reference(ref, subject=ref)
            self._typed[ref] = _typed(schema)
        return self._typed[ref]

    def _url_parameters(self, body: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """The parameters of path and query as schemas, those that have an order first."""
        parameters = as_mapping(body.get("parameters"))
        ordered = [name for name in as_list(body.get("parameterOrder")) if isinstance(name, str) and name in parameters]
        rows = {str(name): parameters[name] for name in dict.fromkeys((*ordered, *parameters))}
        return {name: self._url_schema(row) for name, row in rows.items() if isinstance(row, Mapping)}

    def _url_schema(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        stated = {**self._lookup(row["$ref"]), **row} if isinstance(row.get("$ref"), str) else dict(row)
        stated.pop("$ref", None)
        typed: dict[str, Any] = _typed(stated)
        typed[_REQUIRED] = row.get("required") is True
        if row.get("repeated") is True:
            outer = {key: typed.pop(key) for key in ("description", "location", _REQUIRED) if key in typed}
            return {**outer, "type": "array", "items": typed}
        return typed

    def _url_parameter(self, name: str, schema: Mapping[str, Any]) -> Parameter:
        flat = flatten(_object({name: schema}), lookup=self._lookup, location=_location(schema)).parameters[0]
        return replace(flat, name=name, description=brief(flat.description, _FIELD_CHARS))

    def _metadata(self, method: Method, cut: Sequence[str]) -> dict[str, Any]:
        api, body, resource = self.root, method.body, method.resource
        metadata: dict[str, Any] = {
            "title": title_of(method.name) + (f" {name_words(resource[-1])}" if resource else ""),
            "service": str(api.get("title") or api.get("name") or ""),
            "version": str(api.get("version", "")),
            **{key: str(api[own]) for key, own in _OWNER.items() if isinstance(api.get(own), str)},
            "method": str(body.get("httpMethod", "GET")),
            "path": "/" + str(body.get("flatPath") or body.get("path") or "").lstrip("/"),
            "tags": list(resource),
            "scopes": [str(scope) for scope in as_list(body.get("scopes"))],
        }
        if body.get("deprecated") is True:
            metadata["deprecated"] = True
        if cut:
            metadata["cut"] = list(cut)
        return metadata


def _object(fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The object schema of some fields."""
    required = [name for name, schema in fields.items() if schema.get(_REQUIRED) is True]
    return {"type": "object", "properties": dict(fields), **({"required": required} if required else {})}


def _in_body(field: Parameter, url: Mapping[str, Any], required: Collection[str]) -> Parameter:
    """A field of the body under the name that it has in the input schema."""
    top = re.split(r"[.\[]", field.name, maxsplit=1)[0]
    name = f"body_{field.name}" if top in url else field.name
    return replace(field, name=name, required=field.required or name in required)


def _oauth(scope: str) -> Security:
    return Security(schemes=(SecurityScheme(key="oauth2", type="oauth2", scopes=(scope,)),))


def _location(schema: Mapping[str, Any]) -> Literal["path", "query"]:
    return "path" if schema.get("location") == "path" else "query"


def _shortened(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    return tuple(replace(each, description=brief(each.description, _FIELD_CHARS)) for each in parameters)


def _typed(schema: Any) -> Any:
    """A schema whose defaults and bounds, which discovery documents write as texts, have the type of the value."""
    if isinstance(schema, list):
        return [_typed(inner) for inner in schema]
    if not isinstance(schema, Mapping):
        return schema
    typed = {key: _typed(value) if key in _HOLDERS else value for key, value in schema.items() if key != "required"}
    if isinstance(properties := schema.get("properties"), Mapping):
        typed["properties"] = {name: _typed(inner) for name, inner in properties.items()}
    for key in ("default", "minimum", "maximum"):
        if isinstance(value := typed.get(key), str) and (key != "default" or typed.get("type") != "string"):
            try:
                typed[key] = json.loads(value)
            except ValueError:
                typed.pop(key)
    return typed
