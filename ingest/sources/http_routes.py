"""The route of an HTTP request: directly or through the proxy of its host, under the certificates of the system."""

from __future__ import annotations

import ipaddress
import ssl
from functools import cache
from urllib.request import getproxies, proxy_bypass

import httpx

from ontology.redaction import redacted_url

__all__ = ["HttpRoutes"]

_PROXY_SCHEMES = ("http://", "https://")
_LAST_PORT = 65_535


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
        _check_port(request.url)
        proxy = _proxy_of(request.url)
        encrypted = request.url.scheme == "https" or proxy.startswith("https:")
        transport = self._transports.get((encrypted, proxy))
        if transport is None:
            # The certificates are read for https alone: a wrong SSL_CERT_FILE does not concern http.
            verify = _system_certificates() if encrypted else False
            transport = httpx.AsyncHTTPTransport(verify=verify, proxy=proxy or None, trust_env=False)
            self._transports[encrypted, proxy] = transport
        return await transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.aclose()


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
