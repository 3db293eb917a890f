"""A transport of httpx whose connections go to numbers that the guard against forged requests has checked."""

from __future__ import annotations

from collections.abc import Sequence

import httpx

from egotools.calling.address_guard import Network, checked_numbers

__all__ = ["GuardedTransport"]


class GuardedTransport(httpx.AsyncBaseTransport):
    """Sends a request to a checked number of its host; name, certificate and header ``Host`` stay those of the URL.

    :param allowed: networks that are not public and that may be reached all the same.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, allowed: Sequence[Network] = ()) -> None:
        self._inner = inner
        self._allowed = tuple(allowed)

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
        for number in numbers:
            sent = httpx.Request(
                request.method,
                url.copy_with(host=number),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "timeout": timeout, "sni_hostname": host},
            )
            try:
                return await self._inner.handle_async_request(sent)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if number == numbers[-1]:
                    raise
        raise httpx.ConnectError("the name of the server has no address", request=request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()
