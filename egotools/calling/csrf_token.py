"""The CSRF token that SAP's OData services demand before a request that changes something.

A service that wants one refuses the request (403, ``x-csrf-token: required``) and has done nothing. A token is then fetched from the
root of the service (``x-csrf-token: fetch``), with the same credentials, and the request is sent again with it and with the cookies
of the session that the token belongs to.
"""

from __future__ import annotations

import httpx

from egotools.calling.http_call import ToolHttpRequest

__all__ = ["fetch_requests", "token_of", "wants_token", "with_token"]

_HEADER = "x-csrf-token"
_FORBIDDEN = 403


def wants_token(request: httpx.Request, response: httpx.Response) -> bool:
    """Whether a service of OData refused a request for the want of a token."""
    return (
        isinstance(request, ToolHttpRequest)
        and bool(request.service_root)
        and response.status_code == _FORBIDDEN
        and response.headers.get(_HEADER, "").lower() == "required"
    )


def fetch_requests(request: ToolHttpRequest) -> list[httpx.Request]:
    """The requests of which one gets a token: HEAD, which has no answer to read, else GET, for services that know no HEAD."""
    own = {name: value for name, value in request.headers.items() if name.lower() in request.secret_headers}
    headers = {**own, "Accept": "application/json", _HEADER: "fetch"}
    return [httpx.Request(method, request.service_root, headers=headers) for method in ("HEAD", "GET")]


def token_of(response: httpx.Response) -> str:
    """The token of an answer, or empty."""
    token = str(response.headers.get(_HEADER, ""))
    return "" if token.lower() in ("required", "fetch") else token


def with_token(request: httpx.Request, token: str, cookies: httpx.Cookies) -> httpx.Request:
    """The request with the token and the cookies of its session, beside those that it has."""
    headers = httpx.Headers(request.headers)
    headers[_HEADER] = token
    blank = httpx.Request(request.method, request.url)
    cookies.set_cookie_header(blank)
    both = [jar["cookie"] for jar in (headers, blank.headers) if "cookie" in jar]
    if both:
        headers["cookie"] = "; ".join(both)
    return httpx.Request(request.method, request.url, headers=headers, content=request.content)
