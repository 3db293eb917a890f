"""An HTTP server in the event loop of its process, with bounded connections; the guard of host names, and the statuses of errors."""

from __future__ import annotations

import asyncio
import logging
import re
import resource
import signal
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from ssl import SSLContext
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ontology.errors import InvalidArgumentError
from services.server.access.tls import is_loopback
from services.server.calls import fields

if TYPE_CHECKING:
    from starlette.types import ASGIApp  # of the extras web, rest and mcp

_LOG = logging.getLogger("egotools.http")
_GRACE_S, _REQUEST_S, _MOST_CONNECTIONS = 2, 10.0, 256
# Name of a code → status. A code that is not here is an error of the server.
HTTP_STATUS = {
    **dict.fromkeys(("INVALID_ARGUMENT", "OUT_OF_RANGE"), 400),
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    **dict.fromkeys(("FAILED_PRECONDITION", "ABORTED"), 409),
    "RESOURCE_EXHAUSTED": 429,
    "UNIMPLEMENTED": 501,
    **dict.fromkeys(("UNAVAILABLE", "CANCELLED"), 503),
    "DEADLINE_EXCEEDED": 504,
}


def http_status(code: str, reason: str = "") -> int:
    """Return the status of an error, by the name of its gRPC code; what is too large has one of its own: another attempt does not help."""
    return 413 if reason == "TOO_LARGE" else HTTP_STATUS.get(code, 500)


def is_own_host(header: str, names: Iterable[str] = ()) -> bool:
    """Whether the header ``Host`` names this server: by loopback or ``names`` (lower case). On loopback every other
    name is refused: a site whose name is made to point here (DNS rebinding) could read what this machine alone may."""
    try:
        host = (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return False
    # A user before it, or text behind it, is no host.
    after = header.lower().removeprefix(f"[{host}]" if ":" in host else host)
    return bool(host) and re.fullmatch(r"(?::\d{1,5})?", after) is not None and (is_loopback(host) or host in names)


class _Connection(H11Protocol):
    """uvicorn's connection with a place among ``most``, and ``request_s`` seconds for the TLS handshake and the first
    request together, and for each further request from its first byte on. A connection without a place takes that of
    another: of those that have sent no whole request, else of all, the oldest of the address that has most. So who
    holds connections loses them, and others are answered. It does the TLS handshake itself: done by the listening
    socket, who begins none would have no place."""

    def __init__(
        self, held: dict[_Connection, str], most: int, request_s: float, tls: SSLContext | None, **options: Any
    ) -> None:
        super().__init__(**options)
        # Connection → address of the other end, in the order of their coming.
        self._held, self._most, self._request_s, self._tls = held, most, request_s, tls
        self._is_ready, self._early = False, b""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether no whole request is here."""
        return not self._is_ready or self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, and begin the handshake where there is one."""
        self._below = transport
        if len(self._held) >= self._most:
            ending = {each: of for each, of in self._held.items() if each.waits} or self._held
            most = Counter(ending.values()).most_common(1)[0][0]
            oldest = next(each for each, of in ending.items() if of == most)
            del self._held[oldest]
            oldest.abort()
        self._held[self] = str((transport.get_extra_info("peername") or ("",))[0])
        self._watch()
        if self._tls is None:
            self._begin(transport)
        else:
            transport.pause_reading()
            self._securing = self.loop.create_task(self._secure(self._tls))

    async def _secure(self, tls: SSLContext) -> None:
        secured = None
        with suppress(OSError):  # no TLS at the other end, or it is gone
            secured = await self.loop.start_tls(self._below, self, tls, server_side=True)
        if secured is None or self not in self._held:
            self._held.pop(self, None)
            self._forget_timer()
            self.abort()
        else:
            self._begin(secured)

    def data_received(self, data: bytes) -> None:
        """Read, and see whether a request has come in whole."""
        if self._is_ready:
            super().data_received(data)
            self._watch()
        else:
            self._early += data

    def on_response_complete(self) -> None:
        """Go on with what was sent meanwhile; between requests uvicorn's own deadline holds."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place."""
        self._held.pop(self, None)
        self._forget_timer()
        if self._is_ready:
            super().connection_lost(exc)

    def abort(self) -> None:
        """End it at once."""
        self._below.abort()

    def _begin(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._is_ready = True
        if self._early:
            self.data_received(self._early)

    def _watch(self) -> None:
        if not self.waits:
            self._forget_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self._request_s, self.abort)

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Embedded(uvicorn.Server):
    """Leaves signals to the program that it runs in."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@asynccontextmanager
async def serve_http(
    app: ASGIApp,
    *,
    host: str,
    port: int,  # 0: any free one
    tls: SSLContext | None = None,
    connections: int = _MOST_CONNECTIONS,  # never more than a quarter of the file descriptors of the process
    request_s: float = _REQUEST_S,  # for a request to come in whole
) -> AsyncIterator[str]:
    """Serve an application inside the block; yields its address, ``http://127.0.0.1:8080``. InvalidArgumentError when it is in use."""
    try:
        family, kind, protocol, _, own = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(own)
            listening.listen(128)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        problem = f"the server cannot listen there: {error.strerror}"
        raise InvalidArgumentError(problem, subject=f"{host}:{port}", remedy="Use another port") from error
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = connections if descriptors == resource.RLIM_INFINITY else min(connections, descriptors // 4)
    held: dict[_Connection, str] = {}
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
    config.http_protocol_class = partial(_Connection, held, most, request_s, tls)  # type: ignore[assignment]
    server = _Embedded(config)
    serving = asyncio.ensure_future(server.serve([listening]))
    name = f"[{host}]" if ":" in host else host
    address = f"{'https' if tls else 'http'}://{name}:{listening.getsockname()[1]}"
    _LOG.info("listening", extra=fields(address=address))
    try:
        yield address
    finally:
        server.should_exit = True
        await serving
        for each in list(held):
            each.abort()


async def until_signal(ready: Callable[[], object]) -> None:
    """Return at SIGTERM or SIGINT; ``ready`` is called when these are awaited."""
    stop, loop, signals = asyncio.Event(), asyncio.get_running_loop(), (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, stop.set)
    try:
        ready()
        await stop.wait()
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
