"""The OpenAPI document of the gateway, made from the contract: its messages, fields and comments.

``make stubs`` writes it as ``services/rest/openapi.json``, which the gateway serves.
"""

from __future__ import annotations

import ast
import json
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from services.rest.rest_server import DOCUMENT, GETS, POSTS, PROBLEM_TYPE

_REQUIRED = {
    "RetrieveBatchRequest": ["requests"],
    "GetToolRequest": ["id"],
    "NeighborsRequest": ["node"],
    "ReportOutcomeRequest": ["request_id"],
}
_SCALARS: dict[int, dict[str, Any]] = {
    FieldDescriptor.TYPE_STRING: {"type": "string"},
    FieldDescriptor.TYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.TYPE_DOUBLE: {"type": "number"},
    FieldDescriptor.TYPE_INT32: {"type": "integer", "format": "int32"},
    FieldDescriptor.TYPE_INT64: {"type": "string", "format": "int64"},
}
_PROBLEM = {
    "type": "`about:blank`: the status and `reason` say what it is.",
    "title": "The phrase of the status.",
    "status": "The HTTP status.",
    "detail": "What is wrong, one sentence.",
    "reason": "The kind of error, as `Error.reason` of the contract.",
    "subject": "The name of a field, a tool id, a header; absent without one.",
    "remedy": "What to do about it, one sentence; absent without one.",
    "instance": "For a bug: `/incidents/ID`, the id in the server's log; else absent.",
}
_HEADERS = (
    ("egotools-tenant", {"type": "string", "maxLength": 200}, "Whose catalogue; as in gRPC."),
    ("egotools-timeout-ms", {"type": "integer", "minimum": 1, "maximum": 60_000}, "After which the call is given up."),
)


def rest_document() -> str:
    """Return the document, as JSON."""
    service = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].methods_by_name
    paths: dict[str, Any] = {}
    described = {
        name: {"type": "integer" if name == "status" else "string", "description": text}
        for name, text in _PROBLEM.items()
    }
    required = ["type", "title", "status", "detail", "reason"]
    problem = {"type": "object", "description": "RFC 9457.", "properties": described, "required": required}
    schemas: dict[str, Any] = {"Problem": problem}
    for verb, routes in (("post", POSTS), ("get", GETS)):
        for path, name in routes.items():
            paths[path] = {verb: _operation(verb, path, service[name], schemas)}
    for path, name in (("/livez", "Live"), ("/readyz", "Ready")):
        paths[path] = {"get": {"operationId": name, "summary": name, "responses": {"200": {"description": "It is."}}}}
    paths["/readyz"]["get"]["responses"]["503"] = {"description": "The service behind it does not answer calls."}
    about = {"title": "egotools", "version": version("egotools"), "description": _comments()["ToolRetrievalStub"]}
    bearer = {"type": "http", "scheme": "bearer", "description": "The token that the gRPC service takes, if it does."}
    components = {"schemas": schemas, "securitySchemes": {"bearer": bearer}}
    made = {"openapi": "3.1.0", "info": about, "paths": paths, "components": components}
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


def _operation(verb: str, path: str, method: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    asked, answered = method.input_type, method.output_type
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "header", "schema": schema, "description": text} for name, schema, text in _HEADERS
    ]
    snapshot = {"schema": {"type": "string"}, "description": "Id of the snapshot."}
    content: dict[str, Any] = {"application/json": {"schema": _ref(answered, schemas, is_request=False)}}
    found: dict[str, Any] = {
        "operationId": method.name,
        "summary": method.name,
        "description": _comments().get(f"ToolRetrievalStub.{method.name}", ""),
        "parameters": parameters,
        "security": [{"bearer": []}, {}],  # a service without access control needs no token
        "responses": {
            "200": {"description": "Done.", "headers": {"egotools-snapshot": snapshot}, "content": content},
            "default": {
                "description": "What is wrong.",
                "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            },
        },
    }
    if verb == "post":
        body = {"application/json": {"schema": _ref(asked, schemas, is_request=True)}}
        return {**found, "requestBody": {"required": True, "content": body}}
    for field in asked.fields:
        in_path, required = f"{{{field.name}}}" in path, field.name in _REQUIRED.get(asked.name, ())
        schema = _field(asked, field, schemas, is_request=True)
        place = {"in": "path" if in_path else "query", "required": in_path or required, "schema": schema}
        parameters.append({"name": field.name, **place, "description": schema.pop("description", "")})
    return found


def _ref(message: Descriptor, schemas: dict[str, Any], *, is_request: bool) -> dict[str, Any]:
    """Return a reference to the schema of a message, which is made where it is not there."""
    if message.name not in schemas:
        made = schemas[message.name] = {"type": "object", "description": _comments().get(message.name, message.name)}
        made["properties"] = {
            field.name: _field(message, field, schemas, is_request=is_request) for field in message.fields
        }
        if is_request:
            made |= {"additionalProperties": False, "required": _REQUIRED.get(message.name, [])}
    return {"$ref": f"#/components/schemas/{message.name}"}


def _field(message: Descriptor, field: FieldDescriptor, schemas: dict[str, Any], *, is_request: bool) -> dict[str, Any]:
    described = {"description": _comments().get(f"{message.name}.{field.name}", "") or field.name}
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        value = _one(kind.fields_by_name["value"], schemas, is_request)
        return {"type": "object", "additionalProperties": value, **described}
    one = _one(field, schemas, is_request)
    if field.is_repeated:
        required = {"minItems": 1} if is_request and field.name in _REQUIRED.get(message.name, ()) else {}
        return {"type": "array", "items": one, **required, **described}
    return {**one, **described}


def _one(field: FieldDescriptor, schemas: dict[str, Any], is_request: bool) -> dict[str, Any]:
    if field.message_type is not None:
        return _ref(field.message_type, schemas, is_request=is_request)
    if field.enum_type is not None:
        return {"type": "string", "enum": [value.name for value in field.enum_type.values]}
    return dict(_SCALARS[field.type])


@cache
def _comments() -> dict[str, str]:
    """The comments of messages (``RetrieveRequest``), fields (``RetrieveRequest.k``) and methods (``ToolRetrievalStub.Retrieve``)."""
    found: dict[str, str] = {}
    for module in (pb, pb_grpc):
        stub = Path(str(module.__file__)).with_suffix(".pyi")
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.ClassDef):
                continue
            found[node.name] = " ".join((ast.get_docstring(node) or "").split())
            for member, after in zip(node.body, [*node.body[1:], ast.Pass()], strict=True):
                text = ""
                if isinstance(member, ast.FunctionDef):
                    text, name = ast.get_docstring(member) or "", member.name
                elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                    constant = after.value if isinstance(after, ast.Expr) else None
                    text, name = str(getattr(constant, "value", "")), member.target.id
                if text:
                    found[f"{node.name}.{name}"] = " ".join(text.split())
    return found


if __name__ == "__main__":
    DOCUMENT.write_text(rest_document(), encoding="utf-8")
