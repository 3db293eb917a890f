"""Calling tools over HTTP and OData."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import httpx

from egotools.calling.address_guard import IDENTITY, Network, checked_numbers, is_encoded
from egotools.calling.call_credentials import Credential, bound_credentials
from egotools.calling.http_call import ToolHttpRequest
from egotools.calling.invoker import (
    MAX_BYTES,
    TIMEOUT_S,
    KnownSecrets,
    ToolAnswer,
    compressed,
    of_http,
    off_loop,
    too_large,
    too_slow,
    unreachable,
)
from egotools.calling.tool_request import AwsCall, McpCall, PythonCall
from egotools.client_errors import ToolRequestError
from egotools.values import Tool


class GuardedTransport(httpx.AsyncBaseTransport):
    """Sends a request to a checked number of its host; name, certificate and header ``Host`` stay those of the URL."""

    def __init__(self, inner: httpx.AsyncBaseTransport, allowed: Sequence[Network] = ()) -> None:
        self._inner, self._allowed = inner, tuple(allowed)  # networks that are not public and that may be reached

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Try the numbers of the host one after another until one takes the connection."""
        url = request.url
        host = url.raw_host.decode("ascii")
        try:
            numbers = await checked_numbers(host, url.port or (443 if url.scheme == "https" else 80), self._allowed)
        except (OSError, UnicodeError):
            raise httpx.ConnectError("the name of the server has no address", request=request) from None
        timeout = dict(request.extensions.get("timeout", {}))
        if timeout.get("connect") is not None:  # one that does not answer leaves time for the others
            timeout["connect"] /= max(len(numbers), 1)
        extensions = {**request.extensions, "timeout": timeout, "sni_hostname": host}
        sent: dict[str, Any] = {"headers": request.headers, "stream": request.stream, "extensions": extensions}
        for number in numbers:
            try:
                to_number = httpx.Request(request.method, url.copy_with(host=number), **sent)
                return await self._inner.handle_async_request(to_number)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if number == numbers[-1]:
                    raise
        raise httpx.ConnectError("the name of the server has no address", request=request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


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
    host, transport = request.url.host, None
    if isinstance(request, ToolHttpRequest) and request.from_document:
        transport = GuardedTransport(httpx.AsyncHTTPTransport(verify=_certificates()), allowed_networks)
    client = httpx.AsyncClient(follow_redirects=False, timeout=timeout_s, verify=_certificates(), transport=transport)
    try:
        async with asyncio.timeout(timeout_s), client:
            response, body = await _sent(client, request, max_bytes)
            wanted = response.status_code == httpx.codes.FORBIDDEN
            wanted = wanted and response.headers.get(_CSRF, "").lower() == "required"
            if wanted and isinstance(request, ToolHttpRequest) and request.service_root:
                again = await _with_token(client, request, max_bytes)
                if again is not None:
                    response, body = await _sent(client, again, max_bytes)
    except (TimeoutError, httpx.TimeoutException):
        raise too_slow(host, timeout_s) from None
    except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
        # The texts of httpx may hold the URL, and it the key of the caller: the kind of the error is said, no more.
        raise unreachable(host, type(error).__name__) from None
    status = f"{response.status_code} {response.reason_phrase}".strip()
    return ToolAnswer(
        ok=response.is_success,
        status=status + " (redirects are not followed)" * response.is_redirect,
        media_type=response.headers.get("content-type", "").partition(";")[0].strip(),
        body=body,
        retry_after=response.headers.get("retry-after", ""),
        size=len(body),
    )


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates that servers are checked against, read once: that takes 30 ms, twenty times what a call on loopback takes."""
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


_CSRF = "x-csrf-token"


async def _with_token(client: httpx.AsyncClient, request: ToolHttpRequest, max_bytes: int) -> httpx.Request | None:
    """The request with a token of its service and the cookies of that session, beside its own; None where the service gives no token.

    The token comes by HEAD, which has no answer to read, else by GET, for services that know no HEAD.
    """
    own = {name: value for name, value in request.headers.items() if name.lower() in request.secret_headers}
    headers = {**own, "Accept": "application/json", _CSRF: "fetch"}
    for method in ("HEAD", "GET"):
        response, _ = await _sent(client, httpx.Request(method, request.service_root, headers=headers), max_bytes)
        token = str(response.headers.get(_CSRF, ""))
        if token.lower() not in ("", "required", "fetch"):
            blank = httpx.Request(request.method, request.url)
            client.cookies.set_cookie_header(blank)
            both = "; ".join(jar["cookie"] for jar in (request.headers, blank.headers) if "cookie" in jar)
            known = httpx.Headers({**request.headers, _CSRF: token, **({"cookie": both} if both else {})})
            return httpx.Request(request.method, request.url, headers=known, content=request.content)
    return None


class HttpInvoker:
    """Sends the request that is built from a tool's call.

    :param servers: namespace of tools → base URL that takes the place of their document's; that of the empty name serves the
        namespaces without one.
    :param credentials: scheme key, or ``NAMESPACE.KEY``, → API key, token, or user and password; see :func:`bound_credentials`.
    :param allowed_networks: that a document's server may be in although they are not public, see :mod:`egotools.calling.address_guard`.
    :param timeout_s: seconds for a call as a whole.
    :param max_bytes: bytes of an answer that are taken.
    """

    def __init__(
        self,
        *,
        servers: Mapping[str, str] | None = None,
        credentials: Mapping[str, Credential] | None = None,
        allowed_networks: Sequence[Network] = (),
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._servers, self._credentials = dict(servers or {}), dict(credentials or {})
        self._secrets, networks = KnownSecrets(self._credentials.values()), tuple(allowed_networks)
        self._send = partial(send_http, allowed_networks=networks, timeout_s=timeout_s, max_bytes=max_bytes)

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`egotools.calling.invoker.ToolInvoker`."""
        server = self._servers.get(tool.namespace, self._servers.get("", ""))
        credentials = bound_credentials(tool.call, self._credentials, namespace=tool.namespace, server=server)
        request = tool.request(arguments, server=server, credentials=credentials)
        if isinstance(request, McpCall | AwsCall | PythonCall):
            raise ToolRequestError("this tool is not called over HTTP", tool.id, "Call it by its protocol.")
        answer = await self._send(request)
        return await off_loop(answer.size, lambda: of_http(self._secrets.without(answer)))
