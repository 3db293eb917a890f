"""The source ``aws.v1``: service models in the format of botocore, from a file or from the installed botocore."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from egotools.call import Argument, Call, Security, SecurityScheme
from ingest.sources.document import Document
from ingest.sources.json_schema.cut_parts import cut_parts
from ingest.sources.json_schema.self_contained import Definitions, SelfContained, self_contained
from ingest.sources.nested_fields import Member, NestedFields
from ingest.sources.prose import brief, title_of
from ingest.sources.source import RejectedRecord, Source, as_list, as_mapping
from ontology.errors import DocumentError, MissingExtraError
from ontology.tool import Parameter, Tool

__all__ = ["AwsSource"]

#: Maximum nesting of structures; ``A.B[].C`` has three levels.
MAX_DEPTH = 3
#: Maximum number of members read from one structure below the first level.
MAX_BREADTH = 30
#: Maximum number of fields read from one input or output.
MAX_FIELDS = 120

_MEMBER_CHARS = 300
_BLOCK = re.compile(
    r"</?(?:p|li|ul|ol|dl|dt|dd|br|div|note|important|h\d|table|tr|td|th|pre|fullname)\b[^<>]*>", re.IGNORECASE
)
_INLINE = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->", re.DOTALL)
_LOCATIONS = {"uri": "path", "querystring": "query", "header": "header", "headers": "header"}
_TYPES = {
    "string": ("string", ""),
    "character": ("string", ""),
    "integer": ("integer", "int32"),
    "long": ("integer", "int64"),
    "bigInteger": ("integer", ""),
    "short": ("integer", "int32"),
    "byte": ("integer", "int8"),
    "float": ("number", "float"),
    "double": ("number", "double"),
    "bigDecimal": ("number", "decimal"),
    "boolean": ("boolean", ""),
    "timestamp": ("string", "date-time"),
    "blob": ("string", "binary"),
    "structure": ("object", ""),
    "map": ("object", ""),
    "list": ("array", ""),
}


def plain_documentation(documentation: Any, max_chars: int) -> str:
    """Return HTML documentation as plain text of at most ``max_chars`` characters, cut after a sentence."""
    if not isinstance(documentation, str) or not documentation:
        return ""
    documentation = documentation[: 20 * max_chars]  # the rest is cut later and need not be cleaned
    bare = html.unescape(_INLINE.sub("", _BLOCK.sub(" ", documentation)))
    return brief(" ".join(bare.split()), max_chars)


class Shapes:
    """The shapes of one service model."""

    def __init__(self, shapes: Mapping[str, Any]) -> None:
        self._shapes = shapes
        self._known: dict[str, tuple[Member, ...]] = {}
        self._schemas: dict[str, Mapping[str, Any]] = {}  # the operations of a service share most of their shapes
        self._definitions = Definitions(self._json_schema)
        self._nested = NestedFields(
            members=self._members,
            element_type=self._element_type,
            max_depth=MAX_DEPTH - 1,
            max_fields=MAX_FIELDS,
            max_breadth=MAX_BREADTH,
        )

    def fields(self, name: str, *, inputs: bool = False) -> tuple[Parameter, ...]:
        """Return the fields of an operation's input or output; the limits cut nested fields before those of the first level.

        :param inputs: whether the fields keep their location and may be required.
        :raises DocumentError: when a shape is not defined.
        """
        members = self._members(name)
        if not inputs:
            members = tuple(Member(replace(field, location="", required=False), shape) for field, shape in members)
        return tuple(self._nested.flatten(members, frozenset({name})))

    def schema(self, name: str, *, output: bool = False) -> SelfContained:
        """The JSON Schema of an operation's input or output.

        :raises DocumentError: when a shape is not defined.
        """
        definitions = self._definitions if output else None  # the order of the inputs is that of the arguments
        return self_contained({"$ref": name}, self._json_schema, output=output, definitions=definitions)

    def _json_schema(self, name: str) -> Mapping[str, Any]:
        """One shape as a JSON Schema that refers to the others by name. Do not change it: it is the same at each call."""
        if name not in self._schemas:
            self._schemas[name] = self._new_schema(name)
        return self._schemas[name]

    def _new_schema(self, name: str) -> Mapping[str, Any]:
        shape = self._shape(name)
        type_, format_ = _TYPES.get(str(shape.get("type")), ("string", ""))
        schema: dict[str, Any] = {"type": type_}
        if shape.get("document") is True:
            return {}
        if format_ == "binary":
            schema["contentEncoding"] = "base64"
        elif format_:
            schema["format"] = format_
        schema.update({key: shape[key] for key in ("enum", "pattern") if shape.get(key)}, **dict(_bounds(shape)))
        if type_ == "object" and shape.get("type") == "structure":
            schema["properties"] = {key: self._member_schema(member) for key, member in _members_of(shape)}
            schema["required"] = [str(key) for key in as_list(shape.get("required"))]
            if shape.get("union") is True:
                schema.update(minProperties=1, maxProperties=1)
        elif type_ == "object":
            schema["additionalProperties"] = {"$ref": str(as_mapping(shape.get("value")).get("shape"))}
        elif _is_list(shape):
            schema["items"] = {"$ref": str(shape["member"].get("shape"))}
        return schema

    def _member_schema(self, member: Mapping[str, Any]) -> Mapping[str, Any]:
        """A scalar in place, so that a field shows its type; a structure, a list or a map by reference."""
        name = str(member.get("shape"))
        described = member.get("documentation") or self._shape(name).get("documentation")
        text = plain_documentation(described, _MEMBER_CHARS)
        compound = self._shape(name).get("type") in ("structure", "list", "map")
        inner = {"$ref": name} if compound else self._json_schema(name)
        return {**inner, **({"description": text} if text else {})}

    def _shape(self, name: str) -> Mapping[str, Any]:
        shape = self._shapes.get(name)
        if not isinstance(shape, Mapping):
            problem = f"The shape {name!r} is not defined; define it in the model"
            raise DocumentError(problem, subject=name, reason="dangling-shape")
        return shape

    def _members(self, name: str) -> tuple[Member, ...]:
        if name not in self._known:
            shape = self._shape(name)
            required = shape.get("required") or ()
            self._known[name] = tuple(
                Member(self._parameter(key, member, key in required), str(member.get("shape")))
                for key, member in _members_of(shape)
            )
        return self._known[name]

    def _parameter(self, name: str, member: Mapping[str, Any], required: bool) -> Parameter:
        shape = self._shape(str(member.get("shape")))
        type_, format_ = _TYPES.get(str(shape.get("type")), ("string", ""))
        if shape.get("document") is True:
            type_, format_ = "any", ""
        valued = self._shape(str(shape["member"].get("shape"))) if _is_list(shape) else shape
        documentation = member.get("documentation") or shape.get("documentation")
        return Parameter(
            name=name,
            type=type_,
            description=plain_documentation(documentation, _MEMBER_CHARS),
            required=required,
            enum=tuple(map(str, as_list(valued.get("enum")))),
            location=_LOCATIONS.get(str(member.get("location", "")), "body"),
            format=format_,
            pattern=str(valued.get("pattern") or ""),
            bounds=_bounds(shape),
        )

    def _element_type(self, name: str) -> tuple[str, str] | None:
        path, seen = "", {name}
        while True:
            shape = self._shape(name)
            type_ = shape.get("type")
            element = shape.get("member") if _is_list(shape) else shape.get("value")
            if type_ not in {"list", "map"} or not isinstance(element, Mapping):
                return (path, name) if type_ == "structure" else None
            path += "[]" if type_ == "list" else ".*"
            name = str(element.get("shape"))
            if name in seen:
                return None
            seen.add(name)


def _members_of(shape: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, member in as_mapping(shape.get("members")).items():
        if isinstance(member, Mapping):
            yield str(key), member


def _bounds(shape: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """``min`` and ``max`` of a shape: of the length of a text or a list, of the value of a number."""
    unit = {"string": "Length", "blob": "Length", "list": "Items", "map": "Properties"}.get(str(shape.get("type")))
    named = (("min", f"min{unit}"), ("max", f"max{unit}")) if unit else (("min", "minimum"), ("max", "maximum"))
    return tuple((name, shape[key]) for key, name in named if isinstance(shape.get(key), (int, float)))


def _is_list(shape: Mapping[str, Any]) -> bool:
    return shape.get("type") == "list" and isinstance(shape.get("member"), Mapping)


_LIVE = "aws:"
_MODEL = "service-2"
_DESCRIPTION_CHARS = 600
_SIGNED = (Security(schemes=(SecurityScheme(key="aws", type="aws4"),)),)
_SERVICE_NAMES = ("serviceFullName", "serviceAbbreviation", "serviceId", "endpointPrefix")


class AwsSource(Source):
    """Reader of ``service-2.json`` files, of ``aws:SERVICE`` and of ``aws:*``."""

    name = "aws.v1"
    live_prefixes = (_LIVE,)

    def accepts(self, document: Document) -> bool:
        """Whether it is an ``aws:`` address, or JSON with the metadata, operations and shapes of a service."""
        if not document.has_content:
            return document.address.startswith(self.live_prefixes)
        head = document.head if document.suffix == ".json" else ""
        if '"metadata"' not in head or not ('"endpointPrefix"' in head or '"serviceId"' in head):
            return False
        data = document.data_or_none
        return isinstance(data, Mapping) and {"metadata", "operations", "shapes"} <= data.keys()

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield one tool for each operation; for ``aws:*`` of all services, with the name ``service.Operation``.

        :raises DocumentError: for a model without operations, or an unknown service.
        :raises MissingExtraError: for an ``aws:`` address when botocore is not installed.
        """
        service = document.address.removeprefix(_LIVE)
        if document.has_content:
            yield from _read_model(document.data, document.address)
        elif service == "*":
            for name in sorted(_loader(document.address).list_available_services(_MODEL)):
                try:
                    model = _installed(name, document.address)
                    yield from _read_model(model, f"{_LIVE}{name}", name, prefix=f"{name}.")
                except DocumentError as error:
                    yield RejectedRecord.of_error(f"{_LIVE}{name}", error)
        else:
            yield from _read_model(_installed(service, document.address), document.address, service)


def _loader(address: str) -> Any:
    try:
        from botocore.loaders import Loader
    except ImportError as error:
        raise MissingExtraError(address, extra="aws") from error
    return Loader()


def _installed(service: str, address: str) -> Any:
    """Return the newest model of a service. Each call has a new loader, because a loader caches everything it loads."""
    loader = _loader(address)
    from botocore.exceptions import DataNotFoundError

    try:
        version = loader.determine_latest_version(service, _MODEL)
        return loader.load_data(str(PurePosixPath(service, version, _MODEL)))
    except (DataNotFoundError, ValueError) as error:
        raise DocumentError(
            f"botocore has no service {service!r}",
            subject=address,
            remedy="Name one as botocore does (s3, dynamodb), or * for all",
        ) from error


def _read_model(model: Any, address: str, name: str = "", *, prefix: str = "") -> Iterator[Tool | RejectedRecord]:
    """Read the operations of a model; ``name`` is that of the service in botocore."""
    model = as_mapping(model)
    operations = as_mapping(model.get("operations"))
    if not operations:
        raise DocumentError("the service model has no operations", subject=address)
    shapes = Shapes(as_mapping(model.get("shapes")))
    metadata = as_mapping(model.get("metadata"))
    names = (metadata.get(key) for key in _SERVICE_NAMES)
    service = next((name for name in names if isinstance(name, str) and name), "")
    called = name or str(metadata.get("serviceId") or metadata.get("endpointPrefix") or "").lower().replace(" ", "-")
    for operation_name, operation in operations.items():
        subject = f"{address}#{operation_name}"
        if not isinstance(operation, Mapping):
            yield RejectedRecord(subject, "wrong-type", "An operation must be an object.")
            continue
        try:
            yield _tool(f"{prefix}{operation_name}", operation_name, operation, shapes, service, called)
        except (AttributeError, TypeError) as error:
            yield RejectedRecord(subject, "wrong-type", f"One of its shapes is malformed ({error}).")
        except Exception as error:  # whatever is wrong with one, the others are read
            yield RejectedRecord.of_error(subject, error)


def _tool(id_: str, name: str, operation: Mapping[str, Any], shapes: Shapes, service: str, called: str) -> Tool:
    http = as_mapping(operation.get("http"))
    metadata: dict[str, Any] = {
        "title": title_of(name),
        "service": service,
        "method": str(http.get("method", "POST")),
        "path": str(http.get("requestUri", "/")),
        "tags": [service] if service else [],
    }
    if operation.get("deprecated") is True:
        metadata["deprecated"] = True
    taken, given = _schema(shapes, operation.get("input")), _schema(shapes, operation.get("output"), output=True)
    metadata |= cut_parts(input_schema=taken, output_schema=given)
    input_schema = taken.schema if taken else {"type": "object", "properties": {}}
    return Tool(
        id=id_,
        name=id_,
        description=plain_documentation(operation.get("documentation"), _DESCRIPTION_CHARS),
        parameters=_fields(shapes, operation.get("input"), inputs=True),
        returns=_fields(shapes, operation.get("output")),
        metadata=metadata,
        input_schema=input_schema,
        output_schema=given.schema if given else None,
        call=Call(
            protocol="aws",
            service=called,
            operation=name,
            method=metadata["method"],
            path=metadata["path"],
            arguments=tuple(Argument(name=key) for key in as_mapping(input_schema.get("properties"))),
            security=() if operation.get("authtype") == "none" else _SIGNED,
        ),
    )


def _schema(shapes: Shapes, reference: Any, *, output: bool = False) -> SelfContained | None:
    return shapes.schema(str(reference.get("shape")), output=output) if isinstance(reference, Mapping) else None


def _fields(shapes: Shapes, reference: Any, *, inputs: bool = False) -> tuple[Parameter, ...]:
    return shapes.fields(str(reference.get("shape")), inputs=inputs) if isinstance(reference, Mapping) else ()
