"""Fetch a document over HTTP or HTTPS, with limits on its size and on the total time."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import logging
import ssl
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from io import BytesIO
from typing import Any, TypeVar
from urllib.request import getproxies, proxy_bypass
from zlib import error as ZlibError

import httpx

from egotools.calling.address_guard import Network, checked_numbers, parse_networks
from egotools.calling.http_invoker import GuardedTransport
from egotools.calling.mcp_session import first_cause
from egotools.client_errors import PermissionDeniedError
from ontology.errors import DocumentError
from ontology.redaction import redact, redacted_url, secrets_in

_Result = TypeVar("_Result")


def run_async(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine and return its result; in a new thread when the caller's thread has a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


# Networks of one kind: an address in one of a group may redirect to those of its group. What is link-local is in none.
_INNER = tuple(
    map(parse_networks, (("127.0.0.0/8", "::1"), ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"), ("fc00::/7",)))
)


class _Routes(httpx.AsyncBaseTransport):
    """Sends one request, and those after its redirects, each on the route of its own host. The first goes to the
    address that the operator has given, wherever that is. A redirect, which its server chooses, goes to public
    addresses, or to networks of the kind that the first address is in; else it raises PermissionDeniedError. A proxy
    setting matters only for the addresses that it is for. The headers go to the origin of the address alone; the client
    never sees them, so it cannot take them along to another address or log them."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._origin, self._headers = _origin(httpx.URL(url)), headers
        self._allowed: tuple[Network, ...] | None = None  # to which a redirect may lead, known after the first request
        self._transports: dict[tuple[bool, str], httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        if self._headers and _origin(url) == self._origin:
            headers = request.headers.copy()
            headers.update(self._headers)
            stream, extensions = request.stream, request.extensions
            request = httpx.Request(request.method, url, headers=headers, stream=stream, extensions=extensions)
        if is_first := self._allowed is None:
            self._allowed = await _own_networks(url)
        _check_port(url)
        proxy = _proxy_of(url)
        encrypted = url.scheme == "https" or proxy.startswith("https:")
        transport = self._transports.get((encrypted, proxy))
        if transport is None:
            # The certificates are read for https alone: a wrong SSL_CERT_FILE does not concern http.
            verify = _system_certificates() if encrypted else False
            transport = httpx.AsyncHTTPTransport(verify=verify, proxy=proxy or None, trust_env=False)
            self._transports[encrypted, proxy] = transport
        if is_first:
            return await transport.handle_async_request(request)
        if not proxy:
            return await GuardedTransport(transport, self._allowed).handle_async_request(request)
        with suppress(OSError, UnicodeError):  # the proxy may know names that this machine does not
            await checked_numbers(url.raw_host.decode("ascii"), url.port or 0, self._allowed)
        return await transport.handle_async_request(request)

    async def aclose(self) -> None:
        for transport in self._transports.values():
            await transport.aclose()


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


async def _own_networks(url: httpx.URL) -> tuple[Network, ...]:
    """The networks of the kinds that an address is in; none for a public one, and where its name cannot be resolved."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(url.raw_host.decode("ascii"), url.port)
    except (OSError, UnicodeError):
        return ()
    numbers = [ipaddress.ip_address(address[0]) for *_, address in found]
    groups = [group for group in _INNER if any(number in network for number in numbers for network in group)]
    return tuple(network for group in groups for network in group)


@cache
def _system_certificates() -> ssl.SSLContext:
    return ssl.create_default_context()


def _proxy_of(url: httpx.URL) -> str:
    """The proxy for an address by the environment (``https_proxy``, ``no_proxy`` …) or the system, or empty; for this machine there is none."""
    try:
        is_this_machine = ipaddress.ip_address(url.host).is_loopback
    except ValueError:
        is_this_machine = url.host.lower().rstrip(".") == "localhost"
    host = f"[{url.host}]" if ":" in url.host else url.host
    target = f"{host}:{url.port}" if url.port else host
    if is_this_machine or any(proxy_bypass(name) for name in (target, url.host)):
        return ""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all") or ""
    if not proxy:
        return ""
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        _check_port(httpx.URL(proxy))
        if not proxy.lower().startswith(("http://", "https://")):
            raise httpx.InvalidURL("egotools uses http and https proxies only")
    except httpx.InvalidURL as error:
        raise httpx.InvalidURL(
            f"the proxy {redacted_url(proxy)} cannot be used ({error}); correct it, or name the host in no_proxy"
        ) from None
    return proxy


def _check_port(url: httpx.URL) -> None:
    if url.port is not None and not 0 < url.port <= 65_535:
        raise httpx.InvalidURL(f"there is no port {url.port}")


#: Maximum size of what is fetched, in bytes, before and after unpacking.
MAX_FETCH_BYTES = 64 * 2**20

# No content encoding, so that the limit counts the bytes sent by the server, also of a gzipped file.
_HEADERS = {
    "Accept": "application/json, application/yaml, */*;q=0.5",
    "Accept-Encoding": "identity",
    "User-Agent": "egotools",
}


def fetch(url: str, *, timeout_s: float = 30.0, headers: Mapping[str, str] | None = None, shown: str = "") -> bytes:
    """Return the body of a GET request, unpacked when gzipped. The whole request, including redirects, may take
    ``timeout_s`` seconds; further headers are sent to the host of the address alone; errors have ``shown``, or else the
    address without credentials and query. Raises DocumentError when the server cannot be reached, is too slow, answers
    with another status than 2xx, redirects to another protocol or into a network that the address is not in itself, or
    sends more than the limit."""
    logging.getLogger("httpx").setLevel(logging.WARNING)  # at INFO it logs each address with its credentials
    shown = shown or redacted_url(url)
    try:
        body = run_async(_get(url, timeout_s, headers or {}))
        if body[:2] == b"\x1f\x8b" and len(body) <= MAX_FETCH_BYTES:
            with gzip.open(BytesIO(body)) as packed:
                body = packed.read(MAX_FETCH_BYTES + 1)
    except httpx.HTTPStatusError as error:
        raise _unreachable(f"the server answers {error.response.status_code}", shown) from error
    except PermissionDeniedError as error:
        fault = "a redirect leads to an address that is not public; nothing was sent there"
        remedy = f"If you trust {error.subject}, give the address that it leads to yourself"
        raise _unreachable(fault, shown, remedy) from error
    except TimeoutError as error:
        raise _unreachable(f"it takes more than {timeout_s:g} s", shown) from error
    except (EOFError, ZlibError, gzip.BadGzipFile) as error:
        raise DocumentError(f"cannot be read: {error}", subject=shown) from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, ExceptionGroup) as error:
        cause = first_cause(error)
        fault = redact(str(cause) or type(cause).__name__, secrets_in(url))
        raise _unreachable(fault, shown, "Check the address and that the server runs") from error
    if len(body) > MAX_FETCH_BYTES:
        raise _unreachable(f"it is larger than {MAX_FETCH_BYTES} bytes", shown)
    return body


async def _get(url: str, timeout_s: float, headers: Mapping[str, str]) -> bytes:
    """Return the body; reading stops after the first chunk that exceeds the limit."""
    body = bytearray()
    async with (
        asyncio.timeout(timeout_s),
        httpx.AsyncClient(
            transport=_Routes(url, headers),
            trust_env=False,  # the routes know the proxies and the certificates
            follow_redirects=True,
            max_redirects=10,
            timeout=timeout_s,
        ) as client,
        client.stream("GET", url, headers=_HEADERS) as response,
    ):
        response.raise_for_status()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > MAX_FETCH_BYTES:
                break
    return bytes(body)


def _unreachable(fault: str, subject: str, remedy: str = "") -> DocumentError:
    return DocumentError(f"cannot be fetched: {fault}", subject=subject, remedy=remedy, reason="unreachable")
