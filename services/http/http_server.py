"""An HTTP server in the event loop of its process, with bounded connections."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from ssl import SSLContext
from typing import Any
from urllib.parse import urlsplit

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from ontology.errors import InvalidArgumentError
from services.server.access.tls import is_loopback
from services.server.logs import fields

__all__ = ["HTTP_STATUS", "http_status", "is_own_host", "serve_http"]


def is_own_host(header: str, names: Iterable[str] = ()) -> bool:
    """Whether the header ``Host`` of a request names this server: a name of loopback, or one of ``names``, which are in lower case.

    A server on loopback refuses every other name: else a site whose name is made to point here (DNS rebinding) could read what this
    machine alone may.
    """
    try:
        host = (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return False
    return is_loopback(host) or host in names


HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "FAILED_PRECONDITION": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "CANCELLED": 503,
    "DEADLINE_EXCEEDED": 504,
}
"""Name of a code → status. A code that is not here is an error of the server."""


def http_status(code: str, reason: str = "") -> int:
    """Return the status of an error.

    :param code: name of its gRPC code.
    :param reason: its kind. What is too large has the code of what is too much at once, and a status of its own: another attempt does
        not help.
    """
    return 413 if reason == "TOO_LARGE" else HTTP_STATUS.get(code, 500)


_REQUEST_S = 10.0
"""For the TLS handshake and the first request together, and for each further request from its first byte on."""
_INCOMING = (h11.IDLE, h11.SEND_BODY)


class Places:
    """The open connections of a server.

    A further one takes the place of another: of those that have sent no whole request, else of all, the oldest of the address that has
    most. So who holds connections loses them, and others are answered.

    :param most: how many there are.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[HttpConnection, str] = {}  # in the order of their coming, with the address of the other end

    def take(self, connection: HttpConnection, address: str) -> None:
        """Give a connection a place."""
        if len(self._held) >= self._most:
            waiting = {each: of for each, of in self._held.items() if each.waits}
            ending = waiting or self._held
            most = Counter(ending.values()).most_common(1)[0][0]
            oldest = next(each for each, of in ending.items() if of == most)
            self.free(oldest)
            oldest.abort()
        self._held[connection] = address

    def free(self, connection: HttpConnection) -> None:
        """Take back the place of a connection, if it has one."""
        self._held.pop(connection, None)

    def __contains__(self, connection: HttpConnection) -> bool:
        return connection in self._held

    def end(self) -> None:
        """End all connections."""
        for each in list(self._held):
            each.abort()


class HttpConnection(H11Protocol):
    """uvicorn's connection, bounded.

    :param tls: it does the handshake itself: done by the listening socket, who begins none would have no place and no deadline of ours.
    :param options: those that uvicorn gives.
    """

    def __init__(self, places: Places, tls: SSLContext | None, **options: Any) -> None:
        super().__init__(**options)
        self._places = places
        self._tls = tls
        self._ready = False
        self._early = b""
        self._securing: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether no whole request is here."""
        return not self._ready or self.conn.their_state in _INCOMING

    def abort(self) -> None:
        """End it at once."""
        self._below.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, and begin the handshake where there is one."""
        self._below = transport
        self._places.take(self, str((transport.get_extra_info("peername") or ("",))[0]))
        self._watch()
        if self._tls is None:
            self._begin(transport)
        else:
            transport.pause_reading()
            self._securing = self.loop.create_task(self._secure(self._tls))

    def data_received(self, data: bytes) -> None:
        """Read, and see whether a request has come in whole."""
        if not self._ready:
            self._early += data
            return
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Go on with what was sent meanwhile; between requests uvicorn's own deadline holds."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place."""
        self._leave()
        if self._ready:
            super().connection_lost(exc)

    async def _secure(self, tls: SSLContext) -> None:
        try:
            secured = await self.loop.start_tls(self._below, self, tls, server_side=True)
        except OSError:  # no TLS at the other end, or it is gone
            secured = None
        if secured is None or self not in self._places:
            self._leave()
            self.abort()
        else:
            self._begin(secured)

    def _begin(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._ready = True
        if self._early:
            self.data_received(self._early)

    def _watch(self) -> None:
        if not self.waits:
            self._forget_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(_REQUEST_S, self.abort)

    def _leave(self) -> None:
        self._forget_deadline()
        self._places.free(self)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


_LOG = logging.getLogger("egotools.http")
_GRACE_S = 2
_MOST_CONNECTIONS = 256


class _Embedded(uvicorn.Server):
    """Leaves signals to the program that it runs in."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@asynccontextmanager
async def serve_http(app: ASGIApp, *, host: str, port: int, tls: SSLContext | None = None) -> AsyncIterator[str]:
    """Serve an application inside the block; yields its address, ``http://127.0.0.1:8080``.

    It has at most 256 connections, and at most a quarter of the file descriptors that the process may open: the others are for the
    service beside it.

    :param port: 0: any free port.
    :raises InvalidArgumentError: when the address is in use or not of this machine.
    """
    listening = _listen(host, port)
    most = _most_connections()
    places = Places(most)
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=_GRACE_S,
        backlog=max(1, most // 4),  # so many are accepted in one step of the event loop, before any gets its place
        limit_concurrency=2 * most,  # reached by requests whose connections are gone
    )
    config.load()
    config.http_protocol_class = partial(HttpConnection, places, tls)  # type: ignore[assignment]
    server = _Embedded(config)
    serving = asyncio.ensure_future(server.serve([listening]))
    address = f"{'https' if tls else 'http'}://{_shown(host)}:{listening.getsockname()[1]}"
    _LOG.info("listening", extra=fields(address=address))
    try:
        yield address
    finally:
        server.should_exit = True
        await serving
        places.end()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(128)
            return listening
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise InvalidArgumentError(
            f"the server cannot listen there: {error.strerror}", subject=f"{host}:{port}", remedy="Use another port"
        ) from error


def _most_connections() -> int:
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST_CONNECTIONS if descriptors == resource.RLIM_INFINITY else min(_MOST_CONNECTIONS, descriptors // 4)


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
