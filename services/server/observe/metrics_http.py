"""The HTTP port of a server for scrapes and probes: ``/metrics``, ``/livez``, ``/readyz``.

It runs in the event loop of the server, so that ``/livez`` answers only while that loop runs, and needs no thread.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from ssl import SSLContext
from typing import TypeAlias

from ontology.errors import InvalidArgumentError

__all__ = ["Authorize", "MetricsHttp", "anybody", "bearer"]

_LOG = logging.getLogger("egotools.server")
Authorize: TypeAlias = Callable[[str], Awaitable[int]]
"""Value of a header ``Authorization``, empty where it is absent → 200 where the metrics may be read, 401 for nobody known, 403 for a caller
without the role."""
_MOST_CONNECTIONS = 64
_BACKLOG = 128
_HEAD_BYTES = 8_192
_SECONDS = 5.0
_TEXT = "text/plain; charset=utf-8"
_METRICS_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_STATUS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


async def anybody(header: str) -> int:
    """Whoever reaches the port may read the metrics."""
    return 200


def bearer(token: str) -> Authorize:
    """Return what admits those who send this bearer token; compared in constant time."""
    expected = f"Bearer {token}".encode()

    async def authorize(header: str) -> int:
        return 200 if hmac.compare_digest(header.encode("utf-8", "replace"), expected) else 401

    return authorize


class MetricsHttp:
    """Answers scrapes and probes: one request a connection, at most 64 connections, five seconds for each.

    A further connection takes the place of the oldest of the address that has most: who holds connections loses them, and a probe
    from elsewhere, or a later one, is answered.

    :param scrape: returns the metrics; called on a thread, at most once at a time: who asks meanwhile gets what that call returns.
    :param ready: whether the server takes calls.
    :param authorize: who may read ``/metrics``; the probes are open to whoever reaches the port.
    :param tls: of the port; None for plain HTTP.
    """

    def __init__(
        self,
        scrape: Callable[[], bytes],
        ready: Callable[[], bool],
        *,
        authorize: Authorize = anybody,
        tls: SSLContext | None = None,
    ) -> None:
        self._scrape = scrape
        self._ready = ready
        self._authorize = authorize
        self._tls = tls
        self._scraping: asyncio.Task[bytes | None] | None = None
        self._connections: dict[
            asyncio.Task[None], str
        ] = {}  # in the order of their coming; with the address of the other end
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port.

        :raises InvalidArgumentError: when it cannot listen there.
        """
        try:
            self._server = await asyncio.start_server(self._connected, host, port, limit=_HEAD_BYTES, backlog=_BACKLOG)
        except OSError as error:
            raise InvalidArgumentError(
                f"the metrics cannot be served on this address: {error.strerror or error}",
                subject=f"{host}:{port}",
                remedy="Choose another metrics_port; port 0 takes any free one",
            ) from error
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close the port and the connections."""
        if self._server is None:
            return
        self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self._scraping is not None:
            await asyncio.wait({self._scraping}, timeout=_SECONDS)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            return
        if len(self._connections) >= _MOST_CONNECTIONS:
            self._end_one()
        self._connections[task] = str((writer.get_extra_info("peername") or ("",))[0])
        try:
            async with asyncio.timeout(_SECONDS):
                if self._tls is not None:  # not by the listening socket: there, who begins no handshake counts nowhere
                    await writer.start_tls(self._tls)
                writer.write(await self._answer(reader))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the other end is gone or too slow, its place was given away, or the port closes
        finally:
            self._connections.pop(task, None)
            writer.transport.abort()

    def _end_one(self) -> None:
        most = Counter(self._connections.values()).most_common(1)[0][0]
        oldest = next(task for task, address in self._connections.items() if address == most)
        del self._connections[oldest]
        oldest.cancel()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return _response(400, "The request has no end.")
        except asyncio.LimitOverrunError:
            return _response(431, "The head of the request is too large.")
        line, *lines = head.split("\r\n")
        words = line.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return _response(400, "This is no HTTP/1 request.")
        method, path = words[0], words[1].partition("?")[0]
        if method not in ("GET", "HEAD"):
            return _response(405, "Use GET.")
        headers = dict(_header(each) for each in reversed(lines))
        found = await self._page(path, headers.get("authorization", ""))
        return found if method == "GET" else found[: found.index(b"\r\n\r\n") + 4]

    async def _page(self, path: str, authorization: str) -> bytes:
        if path == "/livez":
            return _response(200, "alive")
        if path == "/readyz":
            return _response(200, "ready") if self._ready() else _response(503, "not ready")
        if path != "/metrics":
            return _response(404, "There are /metrics, /livez and /readyz.")
        status = await self._authorize(authorization)
        if status == 403:
            return _response(403, "The caller does not have the role metrics.")
        if status != 200:
            return _response(401, "The metrics need a bearer token.", "WWW-Authenticate: Bearer")
        if self._scraping is None or self._scraping.done():
            self._scraping = asyncio.create_task(self._scraped())
        text = await asyncio.shield(self._scraping)  # a thread cannot be stopped: it goes on for those who ask later
        if text is None:
            return _response(500, "The metrics cannot be written; the log of the server says why.")
        return _response(200, text, content_type=_METRICS_TEXT)

    async def _scraped(self) -> bytes | None:
        try:
            return await asyncio.to_thread(self._scrape)
        except Exception:
            _LOG.exception("the metrics cannot be written")
            return None


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


def _response(status: int, body: str | bytes, *headers: str, content_type: str = _TEXT) -> bytes:
    content = body if isinstance(body, bytes) else f"{body}\n".encode()
    head = (
        f"HTTP/1.1 {status} {_STATUS[status]}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(content)}",
        "Cache-Control: no-store",
        "Connection: close",
        *headers,
    )
    return "\r\n".join((*head, "", "")).encode("latin-1") + content
