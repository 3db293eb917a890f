"""Sending one call, with a deadline for the whole of it and a limit of the answer's size.

For programs that have no client of their own. Nothing is tried again but what a service refused for the want of a CSRF token, and no
redirect is followed: it could take a credential to another server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from egotools.calling.content_encoding import IDENTITY, is_encoded
from egotools.calling.send_aws import send_aws
from egotools.calling.send_mcp import send_mcp
from egotools.calling.tool_answer import MAX_BYTES, TIMEOUT_S, ToolAnswer, compressed, too_large, too_slow, unreachable

if TYPE_CHECKING:
    import ssl

    import httpx

    from egotools.calling.address_guard import Network
    from egotools.calling.http_call import ToolHttpRequest

__all__ = ["MAX_BYTES", "TIMEOUT_S", "ToolAnswer", "send_aws", "send_http", "send_mcp"]

_NOT_FOLLOWED = " (redirects are not followed)"


async def send_http(
    request: httpx.Request,
    *,
    allowed_networks: Sequence[Network] = (),
    timeout_s: float = TIMEOUT_S,
    max_bytes: int = MAX_BYTES,
) -> ToolAnswer:
    """Send a request over HTTP. One of OData that is refused for the want of a CSRF token is sent once more, with one.

    :param allowed_networks: that a server of a document may be in although they are not public; a server that the caller gave is
        not checked. To one of a document the connection is direct, also where the environment names a proxy.
    :raises PermissionDeniedError: when the server of a document is neither public nor allowed; nothing is sent.
    :raises ClientDeadlineError: when the answer is not complete in time.
    :raises OverloadedError: when the answer has more bytes.
    :raises UnavailableError: when the server cannot be reached, breaks off or compresses its answer.
    """
    import httpx

    from egotools.calling.csrf_token import wants_token, with_token
    from egotools.calling.http_call import ToolHttpRequest

    host = request.url.host
    guarded = isinstance(request, ToolHttpRequest) and request.from_document
    transport = _guarded(allowed_networks) if guarded else None
    client = httpx.AsyncClient(follow_redirects=False, timeout=timeout_s, verify=_certificates(), transport=transport)
    try:
        async with asyncio.timeout(timeout_s), client:
            response, body = await _sent(client, request, max_bytes)
            if isinstance(request, ToolHttpRequest) and wants_token(request, response):
                token = await _token(client, request, max_bytes)
                if token:
                    response, body = await _sent(client, with_token(request, token, client.cookies), max_bytes)
    except (TimeoutError, httpx.TimeoutException):
        raise too_slow(host, timeout_s) from None
    except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
        # The texts of httpx may hold the URL, and it the key of the caller: the kind of the error is said, no more.
        raise unreachable(host, type(error).__name__) from None
    status = f"{response.status_code} {response.reason_phrase}".strip()
    return ToolAnswer(
        ok=response.is_success,
        status=status + _NOT_FOLLOWED * response.is_redirect,
        media_type=response.headers.get("content-type", "").partition(";")[0].strip(),
        body=body,
        retry_after=response.headers.get("retry-after", ""),
        size=len(body),
    )


def _guarded(allowed_networks: Sequence[Network]) -> httpx.AsyncBaseTransport:
    import httpx

    from egotools.calling.guarded_transport import GuardedTransport

    return GuardedTransport(httpx.AsyncHTTPTransport(verify=_certificates()), allowed_networks)


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates that servers are checked against, read once: that takes 30 ms, twenty times what a call on loopback takes."""
    import httpx

    return httpx.create_ssl_context()


async def _sent(client: httpx.AsyncClient, request: httpx.Request, max_bytes: int) -> tuple[httpx.Response, bytes]:
    request.headers.update(IDENTITY)
    response = await client.send(request, stream=True)
    body = bytearray()
    try:
        if is_encoded(response.headers) and request.method != "HEAD":
            raise compressed(request.url.host)
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > max_bytes:
                raise too_large(request.url.host, max_bytes)
    finally:
        await response.aclose()
    return response, bytes(body)


async def _token(client: httpx.AsyncClient, request: ToolHttpRequest, max_bytes: int) -> str:
    """Return a token of the service, or empty where it gives none."""
    from egotools.calling.csrf_token import fetch_requests, token_of

    for fetch in fetch_requests(request):
        response, _ = await _sent(client, fetch, max_bytes)
        if token := token_of(response):
            return token
    return ""
