"""The process of the gateway: an HTTP server with the REST application, until a signal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from egotools.channel import CallMetadata, channel_options
from egotools.client_errors import InvalidRequestError
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from ontology.errors import InvalidArgumentError
from services.http.http_server import serve_http
from services.jobs.plans import HttpPlace
from services.rest.rest_app import rest_app
from services.server.access.tls import client_credentials, is_loopback, web_tls
from services.server.settings import ServerSettings

_PROBE_S = 2.0
_SERVICE = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSettings(HttpPlace):
    """Where the gateway is, and how it calls the service. On loopback it is called by the names of loopback and its own only."""

    server_ca: Path | None = None  # certificates that the service's must come from; None for plain text
    limits: ServerSettings = field(default_factory=ServerSettings)  # the service's, for the gateway's bytes and calls


@asynccontextmanager
async def serve_rest(target: str, settings: RestSettings) -> AsyncIterator[str]:
    """Serve REST over the gRPC service at ``target`` inside the block; yields the address, ``http://127.0.0.1:8080``.

    :raises InvalidArgumentError: when tokens would cross a network in plain text, an option is not valid, or the address is in use.
    """
    try:
        CallMetadata(target, token="-", tenant="", is_private=settings.server_ca is not None or settings.insecure)
    except InvalidRequestError:
        problem, remedy = (
            "tokens would go to the service in plain text",
            "Give --server-ca; or --insecure where the network is private",
        )
        raise InvalidArgumentError(problem, subject=target, remedy=remedy) from None
    tls = web_tls(settings.host, settings.tls_cert, settings.tls_key, insecure=settings.insecure)
    names = [settings.host, *settings.names] if is_loopback(settings.host) else None
    options: Any = channel_options(settings.limits.max_message_bytes)
    if settings.server_ca is None:
        channel = grpc.aio.insecure_channel(target, options=options)
    else:
        channel = grpc.aio.secure_channel(target, client_credentials(settings.server_ca), options=options)
    health: Any = health_pb2_grpc.HealthStub(channel)

    async def is_ready() -> bool:
        try:
            found = await health.Check(health_pb2.HealthCheckRequest(service=_SERVICE), timeout=_PROBE_S)
        except grpc.aio.AioRpcError:
            return False
        return bool(found.status == health_pb2.HealthCheckResponse.SERVING)

    app = rest_app(pb_grpc.ToolRetrievalStub(channel), settings.limits, ready=is_ready, names=names)
    async with channel, serve_http(app, host=settings.host, port=settings.port, tls=tls) as address:
        yield address
