"""The process of the gateway: an HTTP server with the REST application, until a signal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from egotools.channel import CallMetadata
from egotools.client_errors import InvalidRequestError
from ontology.errors import InvalidArgumentError
from services.http.http_server import serve_http
from services.rest.rest_app import rest_app
from services.rest.tool_service import ToolService
from services.server.access.tls import is_loopback, web_tls
from services.server.settings import ServerSettings

__all__ = ["RestSettings", "serve_rest", "until_signal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSettings:
    """Where the gateway is, and how it calls the service.

    :param host: address to listen on; beyond loopback only with TLS, or ``insecure``.
    :param port: 0: any free port.
    :param names: host names by which a gateway on loopback may be called, beside those of loopback.
    :param tls_cert: its certificate chain, PEM.
    :param tls_key: its private key, PEM.
    :param server_ca: certificates that the service's must come from; None for plain text.
    :param insecure: whether tokens may cross a network in plain text: a proxy has TLS.
    :param limits: settings of the service, whose limits of bytes and of open calls are the gateway's too.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    names: Sequence[str] = ()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    server_ca: Path | None = None
    insecure: bool = False
    limits: ServerSettings = field(default_factory=ServerSettings)


@asynccontextmanager
async def serve_rest(target: str, settings: RestSettings) -> AsyncIterator[str]:
    """Serve REST over a gRPC service inside the block; yields the address, ``http://127.0.0.1:8080``.

    :param target: address of the service.
    :raises InvalidArgumentError: when tokens would cross a network in plain text, an option is not valid, or the address is in use.
    """
    _check(target, settings)
    tls = web_tls(settings.host, settings.tls_cert, settings.tls_key, insecure=settings.insecure)
    names = [settings.host, *settings.names] if is_loopback(settings.host) else None
    limits = settings.limits
    service = ToolService(target, settings.server_ca, most_bytes=limits.max_message_bytes)
    app = rest_app(service, limits, names=names)
    async with serve_http(app, host=settings.host, port=settings.port, tls=tls) as address:
        yield address


async def until_signal(ready: Callable[[], None]) -> None:
    """Return at SIGTERM or SIGINT.

    :param ready: is called when these are awaited.
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, stop.set)
    try:
        ready()
        await stop.wait()
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _check(target: str, settings: RestSettings) -> None:
    try:
        CallMetadata(target, token="-", tenant="", is_private=settings.server_ca is not None or settings.insecure)
    except InvalidRequestError:
        raise InvalidArgumentError(
            "tokens would go to the service in plain text",
            subject=target,
            remedy="Give --server-ca; or --insecure where the network is private",
        ) from None
