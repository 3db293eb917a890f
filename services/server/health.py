"""Health of the process (``""``) and of the service. Watchers see the shutdown and do not delay it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2

from ontology.errors import EgotoolsError, InvalidArgumentError
from services.server.admission.admission import Admission, PeerCalls, peer_of

__all__ = ["Health", "StandardInterceptor"]

_MOST_BYTES = 4_096
_Base: Any = health.aio.HealthServicer
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Health(_Base):  # type: ignore[misc]
    """The standard health service. The stream of each watcher ends when the server stops, not after its grace period."""

    def __init__(self) -> None:
        super().__init__()
        self._watching: set[asyncio.Task[Any]] = set()
        self._ending = False

    async def set_serving(self, service: str, serving: bool) -> None:
        """Set the status of a service to SERVING or NOT_SERVING."""
        status = health_pb2.HealthCheckResponse
        await self.set(service, status.SERVING if serving else status.NOT_SERVING)

    async def Watch(self, request: Any, context: Any) -> None:
        """Stream every change of the status until the caller or the server ends the stream."""
        task = asyncio.current_task()
        if task is None or self._ending:
            return
        self._watching.add(task)
        try:
            await super().Watch(request, context)
        except asyncio.CancelledError:
            if not self._ending:
                raise
        finally:
            self._watching.discard(task)

    def end_watching(self) -> None:
        """End the streams of all watchers. Call it only after they had time to receive the last status."""
        self._ending = True
        for task in list(self._watching):
            task.cancel()


class StandardInterceptor(grpc.aio.ServerInterceptor):
    """Bounds health and reflection apart from the calls of the service, so that ``Check`` is answered whatever else is open.

    :param services: full names of the services.
    :param admission: the room for the bytes of their messages.
    :param streams: counts their open streams, but for the first of each connection: a client that watches health has one, and
        others at the same address, behind a proxy, cannot take its place. Connections are bounded.
    """

    def __init__(self, services: tuple[str, ...], admission: Admission, streams: PeerCalls) -> None:
        self._prefixes = tuple(f"/{service}/" for service in services)
        self._admission = admission
        self._streams = streams
        self._connections: set[str] = set()  # that have a first stream

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        """Wrap the handler of a method of these services."""
        handler: Any = await continuation(handler_call_details)
        if handler is None or not handler_call_details.method.startswith(self._prefixes):
            return handler  # type: ignore[no-any-return]

        async def answer(requests: Any, context: Any) -> Any:
            try:
                return await self._answer(handler, requests, context)
            except EgotoolsError as error:
                await context.abort(grpc.StatusCode[error.grpc_code], str(error))

        streams = handler.response_streaming
        make: Any = grpc.stream_stream_rpc_method_handler if streams else grpc.stream_unary_rpc_method_handler
        deserializer = handler.request_deserializer if handler.request_streaming else None
        wrapper: _Handler = make(answer, deserializer, handler.response_serializer)
        return wrapper

    async def _answer(self, handler: Any, requests: Any, context: Any) -> Any:
        peer = peer_of(context)
        if handler.request_streaming:
            self._begin_stream(peer, context)
            async for reply in handler.stream_stream(requests, context):
                await context.write(reply)
            return None
        raw, held = await self._admission.read(peer, context, _MOST_BYTES)
        held.release()  # a watcher holds none of it
        try:
            request = handler.request_deserializer(raw)
        except DecodeError:
            raise InvalidArgumentError("the bytes are not a message of this method", subject="request") from None
        if not handler.response_streaming:
            return await handler.unary_unary(request, context)
        self._begin_stream(
            peer, context
        )  # only now: a client that still sends would see CANCELLED instead of the refusal
        return await handler.unary_stream(request, context)

    def _begin_stream(self, peer: str, context: Any) -> None:
        connection = context.peer()  # its address with the port
        if connection not in self._connections:
            self._connections.add(connection)
            context.add_done_callback(lambda _: self._connections.discard(connection))
            return
        self._streams.begin(peer)
        context.add_done_callback(lambda _: self._streams.end(peer))
