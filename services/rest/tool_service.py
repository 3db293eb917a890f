"""The gRPC service behind the gateway: each call with the token, the tenant and the deadline of its caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import grpc
from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc
from starlette.requests import ClientDisconnect

from egotools.channel import DEFAULT_MAX_MESSAGE_BYTES, channel_options
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from services.rest.problem import json_bytes, message_json, problem_json, problem_of
from services.server.access.tls import client_credentials

__all__ = ["CallContext", "CallerHeaders", "ToolService"]

_PROBE_S = 2.0
_MOST_DETAILS = 300  # characters of the transport's words
_SERVICE = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name
_BEARER = HTTPBearer(auto_error=False, description="The token that the gRPC service takes; none where it takes none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What a caller says with each call: metadata of the gRPC call, and seconds for the whole of it."""

    metadata: tuple[tuple[str, str], ...] = field(repr=False)
    timeout_s: float


def _call_context(
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
    egotools_tenant: Annotated[
        str, Header(pattern=r"^[\x21-\x7e]*$", max_length=200, description="Whose catalogue; as in gRPC.")
    ] = "",
    egotools_timeout_ms: Annotated[
        int, Header(ge=1, le=60_000, description="Milliseconds after which the call is given up.")
    ] = 10_000,
    traceparent: Annotated[
        str, Header(pattern=r"^[\x21-\x7e]*$", max_length=200, description="W3C Trace Context.")
    ] = "",
) -> CallContext:
    token = f"Bearer {bearer.credentials}" if bearer is not None else ""
    if not token.isascii() or not token.isprintable():  # what is no metadata of gRPC is no token of anybody either
        token = "Bearer -"
    pairs = (("authorization", token), ("egotools-tenant", egotools_tenant), ("traceparent", traceparent))
    return CallContext(
        metadata=tuple((key, value) for key, value in pairs if value), timeout_s=egotools_timeout_ms / 1e3
    )


CallerHeaders = Annotated[CallContext, Depends(_call_context)]
"""A parameter of a route: what its caller says in the headers."""


class ToolService:
    """A channel to the gRPC service, which all callers share. Create and close it in one event loop.

    :param target: its address.
    :param ca_file: certificates that the server's must come from; None for plain text.
    :param most_bytes: of an answer.
    """

    def __init__(
        self, target: str, ca_file: Path | None = None, *, most_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    ) -> None:
        options = channel_options(most_bytes)
        if ca_file is None:
            self._channel = grpc.aio.insecure_channel(target, options=options)
        else:
            self._channel = grpc.aio.secure_channel(target, client_credentials(ca_file), options=options)
        self._stub: Any = pb_grpc.ToolRetrievalStub(self._channel)
        self._health = health_pb2_grpc.HealthStub(self._channel)

    async def close(self) -> None:
        """Close the connections."""
        await self._channel.close()

    async def call(self, method: str, message: Message, context: CallContext, request: Request) -> Any:
        """Return the answer to a call; cancel it when the client of the HTTP request goes away.

        :raises AioRpcError: when it fails.
        """
        call = getattr(self._stub, method)(message, timeout=context.timeout_s, metadata=context.metadata)
        return await _while_waited_for(call, call, request)

    async def stream(
        self, method: str, message: Message, context: CallContext, request: Request
    ) -> tuple[Any, AsyncIterator[bytes]]:
        """Return the first message of a stream, and lines of JSON for all. A failure after the first is the last line.

        :raises AioRpcError: when it fails before the first.
        """
        call = getattr(self._stub, method)(message, timeout=context.timeout_s, metadata=context.metadata)
        first = await _while_waited_for(call.read(), call, request)

        async def lines() -> AsyncIterator[bytes]:
            each = first
            try:
                while each is not grpc.aio.EOF:
                    yield json_bytes(message_json(each)) + b"\n"
                    each = await call.read()
            except grpc.aio.AioRpcError as failure:
                problem, _ = problem_of(failure)
                yield json_bytes({"problem": problem_json(problem)}) + b"\n"
            finally:
                call.cancel()

        return first, lines()

    async def is_ready(self) -> bool:
        """Whether the service answers calls."""
        return not await self.why_silent()

    async def why_silent(self) -> str:
        """Return why the service does not answer calls, at most two seconds later; empty where it does."""
        try:
            found = await self._health.Check(health_pb2.HealthCheckRequest(service=_SERVICE), timeout=_PROBE_S)
        except grpc.aio.AioRpcError as error:
            return f"{error.code().name}, {' '.join((error.details() or '').split())[:_MOST_DETAILS]}"
        served = found.status == health_pb2.HealthCheckResponse.SERVING
        return "" if served else "it has no catalogue yet, or is stopping"


async def _while_waited_for(answer: Any, call: Any, request: Request) -> Any:
    waiting = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            raise ClientDisconnect
        return waiting.result()
    finally:
        gone.cancel()
        if not waiting.done():
            call.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
