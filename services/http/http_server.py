"""An HTTP server in the event loop of its process, with bounded connections."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from ssl import SSLContext

import uvicorn
from starlette.types import ASGIApp

from ontology.errors import InvalidArgumentError
from services.http.http_connection import HttpConnection, Places
from services.server.logs import fields

__all__ = ["serve_http"]

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
