"""The request that calls a tool with some arguments: over HTTP, of an MCP session, of an AWS client, of a Python function.

Nothing is sent here: the caller sends it, with a client and credentials of its own, after whatever consent it asks for::

    answer = client.retrieve("release the purchase order 4500012345", schema_format="openai")
    request = answer.request(name_that_the_model_called, arguments, credentials={"oauth2": token})
    response = httpx.Client().send(request)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from egotools.call import PROTOCOLS, Call
from egotools.calling.call_credentials import Credential
from egotools.calling.input_arguments import place_arguments
from egotools.client_errors import MissingPackageError, ToolRequestError

if TYPE_CHECKING:
    import httpx

_FUNCTION = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z")
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")


@dataclass(frozen=True, slots=True, kw_only=True)
class McpCall:
    """A call of a tool of an MCP session; ``session`` is the name of the source whose session has it, and may be empty."""

    session: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsCall:
    """A call of an operation of an AWS service, both as botocore names them. A blob is text in base64, as in JSON, or bytes."""

    service: str
    operation: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """A call of a Python function, ``module:name``."""

    function: str
    arguments: Mapping[str, Any]


ToolRequest: TypeAlias = Union["httpx.Request", McpCall, AwsCall, PythonCall]


def build_request(
    call: Call,
    arguments: Mapping[str, Any],
    *,
    schema: Mapping[str, Any] | None = None,
    server: str = "",
    credentials: Mapping[str, Credential] | None = None,
) -> ToolRequest:
    """Return the request of a call.

    An argument may have its name of the source, or the name that model runtimes accept, where the schema renamed it. ``null`` where
    the schema does not allow it means that the argument is absent. Bytes, or ``(file name, bytes, media type)``, are files of
    a ``multipart/form-data`` body.

    :param arguments: map from name to JSON value.
    :param schema: the JSON Schema of the arguments: of the source, or the call schema that a model was given. Without it names,
        ``null`` and kinds of nested values are not checked.
    :param server: base URL; takes the place of the servers of the call, and a relative one of them is resolved against it.
    :param credentials: map from scheme key to API key, token, or user and password. They are not stored; with an API key in the query,
        the URL of the request holds it.
    :raises ToolRequestError: when an argument is unknown, missing or of the wrong kind, there is no server, or no alternative of
        the call's security has its credentials.
    :raises MissingPackageError: for HTTP, when httpx is not installed.
    """
    if call.protocol not in PROTOCOLS:
        what = f"by the protocol {call.protocol!r}" if call.protocol else "at all"
        raise ToolRequestError(
            f"it is not known how to call this tool {what}",
            "call",
            "Its source does not say how, or a client asked for it without a schema format.",
        )
    root, null_is_absent = arguments_schema(schema or {})
    placed = place_arguments(call, arguments, root, null_is_absent=null_is_absent)
    if call.protocol in ("http", "odata"):
        try:
            from egotools.calling.http_call import http_request
        except ImportError as error:
            if error.name != "httpx":
                raise
            raise MissingPackageError("httpx") from error
        return http_request(call, placed, server=server, credentials=credentials or {})
    named = {each.wire_name: each.value for each in placed}
    if not call.operation:
        raise ToolRequestError("the call names no operation", "call", "Build the snapshot again.")
    if call.protocol == "mcp":
        return McpCall(session=call.session, tool=call.operation, arguments=named)
    if call.protocol == "aws":
        return AwsCall(service=call.service, operation=call.operation, arguments=named)
    if not _FUNCTION.match(call.operation):
        raise ToolRequestError("the name of the function is not module:name", "call", "Build again.")
    return PythonCall(function=call.operation, arguments=named)


def arguments_schema(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Return the JSON Schema of the arguments in a call schema of any format, and whether it is strict.

    Under a strict schema every property is required, and ``null`` says that an argument is absent.
    """
    inner = schema.get("function", schema)
    if not isinstance(inner, Mapping):
        return {}, False
    if "properties" not in inner and inner.get("type") != "object":
        found = next((inner[key] for key in _SCHEMA_KEYS if isinstance(inner.get(key), Mapping)), None)
        if found is not None:
            return found, inner.get("strict") is True
    return inner, False
