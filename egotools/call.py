"""How a tool is called: the protocol, the server and the place of each argument, as the source of the tool states them.

This module imports the standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass

PROTOCOLS = ("http", "odata", "aws", "mcp", "python")
"""HTTP by method and path, OData, an operation of an AWS service, a tool of an MCP session, a Python function."""
LOCATIONS = ("path", "query", "header", "body", "form", "filter", "argument")
"""Where an argument goes: a part of an HTTP request (``body``: a member of a JSON body, ``form``: a field of a form),
``filter``: a comparison in OData's ``$filter``, ``argument``: a named argument of an MCP tool, an AWS operation, a function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One property of a tool's input schema, and where a call carries it.

    :param location: one of :data:`LOCATIONS`.
    :param wire_name: its name in the request, where that is another one.
    :param style: how HTTP writes a list or an object: ``style`` of OpenAPI, ``json``, or a type of OData (``Edm.String``); empty for
        the default of the location.
    :param explode: ``explode`` of OpenAPI; None for the default of the style.
    :param whole_body: whether its value is the whole body, not a member of it.
    """

    name: str
    location: str = "argument"
    wire_name: str = ""
    style: str = ""
    explode: bool | None = None
    whole_body: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityScheme:
    """How a caller proves who it is; never a credential itself.

    :param key: the name of the scheme in the document.
    :param type: ``apiKey``, ``http``, ``oauth2``, ``openIdConnect``, ``mutualTLS`` or ``aws4``.
    :param location: of an API key: ``header``, ``query`` or ``cookie``; ``name`` is its name there.
    :param scheme: of ``http``: ``basic``, ``bearer``, …
    """

    key: str
    type: str = ""
    location: str = ""
    name: str = ""
    scheme: str = ""
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """Schemes that are needed together; none where the call needs no credential."""

    schemes: tuple[SecurityScheme, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """How a tool is called.

    :param protocol: one of :data:`PROTOCOLS`; empty where the source does not say.
    :param servers: base URLs, the preferred one first; none where the document names none.
    :param method: HTTP method in upper case, or empty.
    :param path: path below a base URL, with ``{name}`` for each argument of the location ``path``; in ``{+name}`` a slash stays
        a slash.
    :param media_type: of the request body (``application/json``, ``multipart/form-data``, …); empty without a body.
    :param accept: media type of the successful answer, or empty.
    :param arguments: the place of each property of the input schema, in its order.
    :param security: alternatives, of which one is enough; none where the document says nothing.
    :param session: of ``mcp``: the name of the source whose session has the tool.
    :param service: of ``aws``: the service as botocore names it.
    :param operation: of ``mcp``, ``aws`` and ``python``: the name of the tool, of the operation, of the function
        (``module:name``).
    """

    protocol: str = ""
    servers: tuple[str, ...] = ()
    method: str = ""
    path: str = ""
    media_type: str = ""
    accept: str = ""
    arguments: tuple[Argument, ...] = ()
    security: tuple[Security, ...] = ()
    session: str = ""
    service: str = ""
    operation: str = ""
