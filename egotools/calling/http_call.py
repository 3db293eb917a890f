"""A call over HTTP as a request of httpx; its ``repr`` and what it shows hide the credentials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx

from egotools.call import Call
from egotools.calling.call_credentials import Credential, Injected, inject_credentials
from egotools.calling.call_url import base_url, call_url
from egotools.calling.caller_headers import is_settable
from egotools.calling.input_arguments import PlacedArgument
from egotools.calling.parameter_styles import header_text
from egotools.calling.request_body import make_body
from egotools.client_errors import ToolRequestError

__all__ = ["HIDDEN", "ToolHttpRequest", "http_request"]

HIDDEN = "***"
"""What stands for a credential where a request is shown."""
_BODIES = ("body", "form")
_READS = ("GET", "HEAD", "OPTIONS")
_LOCATIONS = frozenset({*_BODIES, "path", "query", "header", "filter"})


class ToolHttpRequest(httpx.Request):
    """A request of httpx that knows which of its parts are credentials. Send it with any client of httpx.

    :param public_url: its URL without credentials.
    :param from_document: whether its server is that of the document: its address is checked before it is sent.
    :param secret_headers: names, in lower case, of the headers that hold credentials.
    :param service_root: of OData: the URL of the service, where a request that changes something may need a token of it.
    """

    public_url: str = ""
    service_root: str = ""
    from_document: bool = False
    secret_headers: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}({self.method!r}, {self.public_url!r})>"

    def public_headers(self) -> list[tuple[str, str]]:
        """Return the headers in their order, with ``***`` for the values that are credentials."""
        items = self.headers.multi_items()
        return [(name, HIDDEN if name.lower() in self.secret_headers else value) for name, value in items]


def http_request(
    call: Call,
    placed: Sequence[PlacedArgument],
    *,
    root: Any,
    server: str,
    credentials: Mapping[str, Credential],
) -> ToolHttpRequest:
    """Return the request of a call.

    :param root: the JSON Schema of all arguments.
    :raises ToolRequestError: when it cannot be made.
    """
    unknown = next((each for each in placed if each.argument.location not in _LOCATIONS), None)
    if unknown is not None:
        problem = f"its place in the request is not known: {unknown.argument.location!r}"
        raise ToolRequestError(problem, subject=unknown.argument.name, remedy="Use a newer egotools, or leave it out.")
    if not call.method:
        raise ToolRequestError(
            "the source of the tool names no HTTP method", subject="tool", remedy="Call it by other means."
        )
    url = call_url(call, placed, server=server)
    injected = inject_credentials(call.security, credentials, server=server)
    body = make_body(
        call.media_type,
        [each for each in placed if each.argument.location in _BODIES],
        method=call.method,
        root=root,
        declared=any(each.location in _BODIES for each in call.arguments),
    )
    headers = [*_headers(call, placed)]
    if body.media_type:
        headers.append(("Content-Type", body.media_type))
    try:
        request = ToolHttpRequest(
            call.method,
            _with_query(url, injected.query),
            headers=[*headers, *injected.headers, *_cookies(injected)],
            content=body.content,
            files=list(body.parts) or None,
        )
    except (httpx.InvalidURL, ValueError, TypeError):
        problem = "the URL or a header of the request is not valid"
        raise ToolRequestError(problem, subject="server", remedy="Correct the base URL or the document.") from None
    request.read()  # the parts of a form with files are in memory: the request can be shown, and sent again
    request.from_document = not server
    request.public_url = _with_query(url, [(name, HIDDEN) for name, _ in injected.query])
    if call.protocol == "odata" and call.method not in _READS:
        request.service_root = _with_query(f"{base_url(call, server)}/", injected.query)
    request.secret_headers = frozenset(name.lower() for name, _ in (*injected.headers, *_cookies(injected)))
    return request


def _headers(call: Call, placed: Sequence[PlacedArgument]) -> list[tuple[str, str]]:
    accept = call.accept or ("application/json" if call.protocol == "odata" else "")
    headers = [("Accept", accept)] if accept else []
    for each in placed:
        if each.argument.location != "header":
            continue
        if not is_settable(each.wire_name):
            problem = f"the header {each.wire_name!r} is not the caller's to set"
            raise ToolRequestError(problem, subject=each.argument.name, remedy="Leave this argument out.")
        headers.append((each.wire_name, header_text(each)))
    return headers


def _with_query(url: str, fields: Sequence[tuple[str, str]]) -> str:
    added = "&".join(f"{quote(name, safe='')}={quote(value, safe='*')}" for name, value in fields)
    return url + (("&" if "?" in url else "?") + added if added else "")


def _cookies(injected: Injected) -> list[tuple[str, str]]:
    cookies = "; ".join(f"{name}={quote(value, safe='*')}" for name, value in injected.cookies)
    return [("Cookie", cookies)] if cookies else []
