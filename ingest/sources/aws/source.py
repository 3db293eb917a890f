"""The source ``aws.v1``: service models in the format of botocore, from a file or from the installed botocore."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from egotools.call import Argument, Call, Security, SecurityScheme
from ingest.sources.document import Document
from ingest.sources.json_schema.schema import FLAT
from ingest.sources.operation import CallInput, Operation, Output, Schemas
from ingest.sources.prose import brief, title_of
from ingest.sources.source import RejectedRecord, Source, as_list, as_mapping, as_text
from ontology.errors import DocumentError, MissingExtraError
from ontology.tool import Tool

_BLOCK = re.compile(
    r"</?(?:p|li|ul|ol|dl|dt|dd|br|div|note|important|h\d|table|tr|td|th|pre|fullname)\b[^<>]*>", re.IGNORECASE
)
_INLINE = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->", re.DOTALL)
_TYPES: Mapping[str, Mapping[str, Any]] = {
    "integer": {"type": "integer", "format": "int32"},
    "short": {"type": "integer", "format": "int32"},
    "long": {"type": "integer", "format": "int64"},
    "byte": {"type": "integer", "format": "int8"},
    "bigInteger": {"type": "integer"},
    **{name: {"type": "number", "format": name} for name in ("float", "double")},
    "bigDecimal": {"type": "number", "format": "decimal"},
    "boolean": {"type": "boolean"},
    "timestamp": {"type": "string", "format": "date-time"},
    "blob": {"type": "string", "contentEncoding": "base64", FLAT: {"format": "binary"}},
    "structure": {"type": "object"},
    "map": {"type": "object"},
    "list": {"type": "array"},
}
_UNITS = {"string": "Length", "blob": "Length", "list": "Items", "map": "Properties"}
_LOCATIONS = {"uri": "path", "querystring": "query", "header": "header", "headers": "header"}


def _plain(documentation: Any, max_chars: int) -> str:
    """Return HTML documentation as plain text of at most ``max_chars`` characters, cut after a sentence."""
    text = as_text(documentation)[: 20 * max_chars]  # the rest is cut later and need not be cleaned
    bare = html.unescape(_INLINE.sub("", _BLOCK.sub(" ", text)))
    return brief(" ".join(bare.split()), max_chars)


class _Shapes:
    """The shapes of one service model as JSON Schemas, which refer to one another by name."""

    def __init__(self, shapes: Mapping[str, Any]) -> None:
        self._shapes = shapes
        self._schemas: dict[str, Mapping[str, Any]] = {}  # the operations of a service share most of their shapes

    def schema(self, name: str) -> Mapping[str, Any]:
        """One shape. Do not change it: it is the same at each call."""
        if name in self._schemas:
            return self._schemas[name]
        shape = self._shape(name)
        if shape.get("document") is True:
            return {}
        kind = str(shape.get("type"))
        schema = dict(_TYPES.get(kind, {"type": "string"}))
        schema.update({key: shape[key] for key in ("enum", "pattern") if shape.get(key)})
        unit = _UNITS.get(kind, "imum")
        for key in ("min", "max"):  # of the length of a text or a list, of the value of a number
            if isinstance(shape.get(key), (int, float)):
                schema[f"{key}{unit}"] = shape[key]
        if kind == "structure":
            members = as_mapping(shape.get("members")).items()
            schema["properties"] = {str(key): self._member(each) for key, each in members if isinstance(each, Mapping)}
            schema["required"] = [str(key) for key in as_list(shape.get("required"))]
            if shape.get("union") is True:
                schema.update(minProperties=1, maxProperties=1)
        elif kind == "map":
            schema["additionalProperties"] = {"$ref": str(as_mapping(shape.get("value")).get("shape"))}
        elif kind == "list" and isinstance(shape.get("member"), Mapping):
            schema["items"] = {"$ref": str(shape["member"].get("shape"))}
        self._schemas[name] = schema
        return schema

    def locations(self, name: str) -> dict[str, str]:
        """The place in the HTTP request of each member of a structure that is not in the body."""
        members = as_mapping(self._shape(name).get("members")).items()
        stated = {str(key): _LOCATIONS.get(str(as_mapping(each).get("location")), "") for key, each in members}
        return {key: location for key, location in stated.items() if location}

    def _member(self, member: Mapping[str, Any]) -> Mapping[str, Any]:
        """A scalar in place, so that a field shows its type; a structure, a list or a map by reference."""
        name = str(member.get("shape"))
        shape = self._shape(name)
        text = _plain(member.get("documentation") or shape.get("documentation"), 300)
        inner = {"$ref": name} if shape.get("type") in ("structure", "list", "map") else self.schema(name)
        return {**inner, **({"description": text} if text else {})}

    def _shape(self, name: str) -> Mapping[str, Any]:
        shape = self._shapes.get(name)
        if not isinstance(shape, Mapping):
            problem = f"The shape {name!r} is not defined; define it in the model"
            raise DocumentError(problem, subject=name, reason="dangling-shape")
        return shape


_LIVE = "aws:"
_MODEL = "service-2"
_SIGNED = (Security(schemes=(SecurityScheme(key="aws", type="aws4"),)),)
_SERVICE_NAMES = ("serviceFullName", "serviceAbbreviation", "serviceId", "endpointPrefix")


class AwsSource(Source):
    """Reader of ``service-2.json`` files and of ``aws:SERVICE``."""

    name = "aws.v1"
    live_prefixes = (_LIVE,)

    def accepts(self, document: Document) -> bool:
        """Whether it is JSON with the metadata, operations and shapes of a service."""
        data = as_mapping(document.data_or_none if document.suffix == ".json" else None)
        return {"metadata", "operations", "shapes"} <= data.keys()

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield one tool for each operation."""
        address = document.address
        # The name of the service in botocore; a file has none.
        service = "" if document.has_content else address.removeprefix(_LIVE)
        model = as_mapping(document.data if document.has_content else _installed(service, address))
        operations, metadata = as_mapping(model.get("operations")), as_mapping(model.get("metadata"))
        if not operations:
            raise DocumentError("the service model has no operations", subject=address)
        shapes = _Shapes(as_mapping(model.get("shapes")))
        schemas = Schemas(shapes.schema)
        titles = (metadata.get(key) for key in _SERVICE_NAMES)
        title = next((each for each in titles if isinstance(each, str) and each), "")
        id_ = str(metadata.get("serviceId") or metadata.get("endpointPrefix") or "").lower().replace(" ", "-")
        for key, body in operations.items():
            subject = f"{address}#{key}"
            if isinstance(body, Mapping):
                yield from schemas.tools(subject, partial(_operation, key, body, shapes, title, service or id_))
            else:
                yield RejectedRecord(subject, "wrong-type", "An operation must be an object.")


def _installed(service: str, address: str) -> Any:
    """Return the newest model of a service."""
    try:
        from botocore.exceptions import DataNotFoundError
        from botocore.loaders import Loader
    except ImportError as error:
        raise MissingExtraError(address, extra="aws") from error
    loader = Loader()
    try:
        version = loader.determine_latest_version(service, _MODEL)
        return loader.load_data(str(PurePosixPath(service, version, _MODEL)))
    except (DataNotFoundError, ValueError) as error:
        problem, remedy = f"botocore has no service {service!r}", "Name one as botocore does (s3, dynamodb)"
        raise DocumentError(problem, subject=address, remedy=remedy) from error


def _operation(name: str, body: Mapping[str, Any], shapes: _Shapes, service: str, called: str) -> Operation:
    """One operation. Its call leaves the places of the arguments to the SDK."""
    http, taken, given = (as_mapping(body.get(key)) for key in ("http", "input", "output"))
    shape = shapes.schema(str(taken.get("shape"))) if taken else {}
    places, needed = shapes.locations(str(taken.get("shape"))) if taken else {}, as_list(shape.get("required"))
    inputs = [
        CallInput(Argument(name=key, location=places.get(key, "body")), schema, key in needed)
        for key, schema in as_mapping(shape.get("properties")).items()
    ]
    method, path = str(http.get("method", "POST")), str(http.get("requestUri", "/"))
    return Operation(
        id=name,
        description=_plain(body.get("documentation"), 600),
        inputs=inputs,
        output=Output({"$ref": str(given.get("shape"))}) if given else None,
        metadata={
            "title": title_of(name),
            "service": service,
            "method": method,
            "path": path,
            "tags": [service] if service else [],
            **({"deprecated": True} if body.get("deprecated") is True else {}),
        },
        call=Call(
            protocol="aws",
            service=called,
            operation=name,
            method=method,
            path=path,
            arguments=tuple(Argument(name=each.name) for each in inputs),
            security=() if body.get("authtype") == "none" else _SIGNED,
        ),
    )
