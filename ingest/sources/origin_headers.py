"""Headers that only the origin of an address gets: after a redirect to another host they are not sent."""

from __future__ import annotations

from collections.abc import Mapping

import httpx

__all__ = ["OriginHeaders"]


class OriginHeaders(httpx.AsyncBaseTransport):
    """Adds headers to the requests to one origin (scheme, host and port).

    The client never sees the headers, so it cannot take them along to another address or log them.

    :param inner: sends the requests.
    :param url: the address whose origin gets the headers.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, url: str, headers: Mapping[str, str]) -> None:
        self._inner = inner
        self._origin = _origin(httpx.URL(url))
        self._headers = dict(headers)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request."""
        if self._headers and _origin(request.url) == self._origin:
            headers = request.headers.copy()
            headers.update(self._headers)
            request = httpx.Request(
                request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
            )
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
