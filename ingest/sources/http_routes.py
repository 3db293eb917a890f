"""The route of an HTTP request: directly or through the proxy of its host, under the certificates of the system; and the guard of redirects."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from contextlib import suppress
from functools import cache
from urllib.request import getproxies, proxy_bypass

import httpx

from egotools.calling.address_guard import Network, checked_numbers, parse_networks
from egotools.calling.guarded_transport import GuardedTransport
from ontology.redaction import redacted_url

__all__ = ["GuardedRedirects", "HttpRoutes"]

_PROXY_SCHEMES = ("http://", "https://")
_LAST_PORT = 65_535
_INNER = tuple(
    map(parse_networks, (("127.0.0.0/8", "::1"), ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"), ("fc00::/7",)))
)
"""Networks of one kind: an address in one of a group may redirect to those of its group. What is link-local is in none."""


class HttpRoutes(httpx.AsyncBaseTransport):
    """Sends each request, also the one after a redirect, on the route of its own host.

    The proxies are those of ``http_proxy``, ``https_proxy``, ``all_proxy`` and ``no_proxy``, or of the operating
    system. A setting matters only for the addresses that it is for; addresses of this machine are never sent to a proxy.
    """

    def __init__(self) -> None:
        self._transports: dict[tuple[bool, str], httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        :raises httpx.InvalidURL: when its port does not exist, or its proxy cannot be used.
        """
        transport, _ = self.route(request.url)
        return await transport.handle_async_request(request)

    def route(self, url: httpx.URL) -> tuple[httpx.AsyncHTTPTransport, bool]:
        """Return what sends the requests to an address, and whether that is a proxy.

        :raises httpx.InvalidURL: as :meth:`handle_async_request`.
        """
        _check_port(url)
        proxy = _proxy_of(url)
        encrypted = url.scheme == "https" or proxy.startswith("https:")
        transport = self._transports.get((encrypted, proxy))
        if transport is None:
            # The certificates are read for https alone: a wrong SSL_CERT_FILE does not concern http.
            verify = _system_certificates() if encrypted else False
            transport = httpx.AsyncHTTPTransport(verify=verify, proxy=proxy or None, trust_env=False)
            self._transports[encrypted, proxy] = transport
        return transport, bool(proxy)

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.aclose()


class GuardedRedirects(httpx.AsyncBaseTransport):
    """Sends the first request to the address that the operator has given, wherever that is; a redirect, which its server chooses, goes to
    public addresses, or to networks of the kind that the first address is in. Only for one request and its redirects.
    """

    def __init__(self) -> None:
        self._routes = HttpRoutes()
        self._allowed: tuple[Network, ...] | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        :raises PermissionDeniedError: for a redirect to another address; nothing was sent there.
        """
        if self._allowed is None:
            self._allowed = await _own_networks(request.url)
            return await self._routes.handle_async_request(request)
        transport, is_proxy = self._routes.route(request.url)
        if not is_proxy:
            return await GuardedTransport(transport, self._allowed).handle_async_request(request)
        with suppress(OSError, UnicodeError):  # the proxy may know names that this machine does not
            await checked_numbers(request.url.raw_host.decode("ascii"), request.url.port or 0, self._allowed)
        return await transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._routes.aclose()


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
    """The address of the proxy for this address, or empty."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    target = f"{host}:{url.port}" if url.port else host
    if _is_this_machine(url.host) or any(proxy_bypass(name) for name in (target, url.host)):
        return ""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all") or ""
    if not proxy:
        return ""
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        _check_port(httpx.URL(proxy))
        if not proxy.lower().startswith(_PROXY_SCHEMES):
            raise httpx.InvalidURL("egotools uses http and https proxies only")
    except httpx.InvalidURL as error:
        raise httpx.InvalidURL(
            f"the proxy {redacted_url(proxy)} cannot be used ({error}); correct it, or name the host in no_proxy"
        ) from None
    return proxy


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def _check_port(url: httpx.URL) -> None:
    if url.port is not None and not 0 < url.port <= _LAST_PORT:
        raise httpx.InvalidURL(f"there is no port {url.port}")
