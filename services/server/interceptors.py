"""What stands around the handlers: authenticate, admit, read and decode the message, run the handler, map errors to statuses, log one line."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.message import DecodeError, Message

from egotools.v1 import egotools_pb2 as pb
from ontology.errors import EgotoolsError, InvalidArgumentError, NotReadyError, OverloadedError
from services.server.access.authentication import Access
from services.server.admission import Admission, PeerCalls
from services.server.calls import (
    TENANT_METADATA_KEY,
    CallRecord,
    answer_too_large,
    begin_call,
    error_message,
    fields,
    peer_of,
    report_incident,
    status,
)
from services.server.messages import check_fields
from services.server.observe.audit_log import AuditLog
from services.server.observe.metrics import Metrics

_LOG = logging.getLogger("egotools.server")
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Next: TypeAlias = Callable[[grpc.HandlerCallDetails], Awaitable["_Handler | None"]]
_PUSHBACK_KEY, _ATTEMPTS_KEY = "grpc-retry-pushback-ms", "grpc-previous-rpc-attempts"
_MOST_ATTEMPTS, _OTHER_REPLICA_S = 4, 0.03
_OK: Any = (grpc.StatusCode.OK, "", ())
# Method that the contract had → what took its place
_GONE = {
    "RetrieveEach": "RetrieveEach was removed: split the batch, and send the parts with RetrieveBatch",
    "UpsertTools": "Single tools are not changed any more: run `egotools sync` or `egotools build`, then call Publish",
    "DeleteTools": "Single tools are not changed any more: run `egotools sync` or `egotools build`, then call Publish",
}
_STOPPING = NotReadyError("the server is stopping", remedy="Use another replica")


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps the calls of one service. Calls of health and reflection are not wrapped."""

    def __init__(
        self,
        service: str,
        access: Access,
        admission: Admission,
        metrics: Metrics,
        *,
        max_message_bytes: int,  # of a response; a larger one becomes an error with a remedy
        max_fields: int,  # of one message, those of its parts included
        max_values: Mapping[str, Mapping[str, int]] = MappingProxyType({}),  # method → repeated field → most values
        check: Callable[[CallRecord], None] = lambda record: None,  # raises what would refuse the call after it is read
        trail: AuditLog | None = None,  # of the calls that change something; None where none of the service does
    ) -> None:
        self._prefix = f"/{service}/"
        methods: Any = descriptor_pool.Default().FindServiceByName(service).methods
        self._kinds = {method.name: method.input_type for method in methods}
        self._access, self._admission, self._metrics, self._trail = access, admission, metrics, trail
        self._max_message_bytes, self._max_fields, self._max_values = max_message_bytes, max_fields, max_values
        self._check = check
        self._tasks: set[asyncio.Task[Any] | None] = set()
        self._abandoned = False
        self.begun = 0  # calls since the start

    @property
    def in_flight(self) -> int:
        """Number of calls that run now."""
        return len(self._tasks)

    def abandon(self) -> None:
        """End every running call with UNAVAILABLE, so that its caller uses another replica."""
        self._abandoned = True
        for task in filter(None, list(self._tasks)):
            task.cancel()

    async def intercept_service(
        self, continuation: _Next, handler_call_details: grpc.HandlerCallDetails
    ) -> _Handler | None:
        """Wrap the handler of a call to the service."""
        path = handler_call_details.method
        handler: Any = await continuation(handler_call_details)
        if not path.startswith(self._prefix):
            return handler  # type: ignore[no-any-return]

        async def answer(requests: Any, context: _Context) -> Any:
            await self._access.admit(context, path, is_known=handler is not None)
            method = path.removeprefix(self._prefix)
            if handler is None:
                self._metrics.finished(CallRecord(method=""), "UNIMPLEMENTED", "", 0.0)
                await context.abort(grpc.StatusCode.UNIMPLEMENTED, _GONE.get(method, "Method not found!"))
            return await self._call(method, handler, context)

        return _as_streams(handler, answer)

    async def _call(self, method: str, handler: Any, context: _Context) -> Any:
        record = CallRecord(method=method, peer=peer_of(context), tenant=_metadata(context, TENANT_METADATA_KEY))
        begin_call(record)
        self.begun += 1
        task = asyncio.current_task()
        self._tasks.add(task)
        response: Message | None = None
        error: EgotoolsError | pb.Error | None = None
        try:
            response = await self._answered(record, handler, context)
        except EgotoolsError as refused:
            error = refused
        except asyncio.CancelledError:
            if not self._abandoned:
                remaining = context.time_remaining()
                why = "DEADLINE_EXCEEDED" if remaining is not None and remaining <= 0 else "CANCELLED"
                if self._trail is not None:
                    self._trail.left(record, why)
                self._ended(record, why)
                raise
            error = _STOPPING
        except Exception:
            error = unexpected = report_incident(record.method)
            record.log_fields["incident_id"] = unexpected.incident_id
        finally:
            self._tasks.discard(task)
        message = error if isinstance(error, pb.Error | None) else error_message(error)
        code, details, trailing = _OK if message is None else status(message)
        if self._trail is not None:
            await self._trail.end(record, code.name)
        self._ended(record, code.name, message.reason if message else "")
        if message is None:
            return response
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            # When to try again: soon at another replica first, then later each time; never what is too large.
            hint = "-1"
            if isinstance(error, OverloadedError):
                tried = _metadata(context, _ATTEMPTS_KEY)
                attempts = min(int(tried), _MOST_ATTEMPTS) if tried.isascii() and tried.isdecimal() else 0
                wait_s = error.retry_after_s * 2 ** (attempts - 1) if attempts else _OTHER_REPLICA_S
                hint = str(round(wait_s * random.uniform(0.75, 1.25) * 1e3))
            trailing = (*trailing, (_PUSHBACK_KEY, hint))
        await context.abort(code, details, trailing)
        return None

    async def _answered(self, record: CallRecord, handler: Any, context: _Context) -> Message:
        self._check(record)
        who, method = record.caller.name or record.peer, record.method
        end = self._admission.calls.begin(who)
        context.add_done_callback(lambda _: end())  # type: ignore[arg-type]  # when its answer is sent
        raw, held = await self._admission.read(method, who, context)
        check_fields(raw, self._kinds[method], self._max_values.get(method, {}), self._max_fields)
        request = _decoded(handler, raw)
        del raw
        if self._trail is not None:
            await self._trail.begin(record, getattr(request, "snapshot_id", ""))
        response: Message = await handler.unary_unary(request, context)
        size = response.ByteSize()
        if size > self._max_message_bytes:
            raise answer_too_large(size, self._max_message_bytes)
        held.resize(size)
        self._metrics.answered(record, response)
        return response

    def _ended(self, record: CallRecord, code: str, reason: str = "") -> None:
        """Log a call, and tell the observers, once for each call."""
        seconds = time.monotonic() - record.started
        said = {**record.log_fields, **({"reason": reason} if reason else {})}
        _LOG.info("call", extra=fields(method=record.method, code=code, ms=round(seconds * 1e3, 3), **said))
        self._metrics.finished(record, code, reason, seconds)


def _as_streams(handler: Any, answer: Callable[[Any, Any], Awaitable[Any]]) -> _Handler:
    """A handler of a stream of requests, which runs before any message is received."""
    streams = handler is not None and handler.response_streaming
    make: Any = grpc.stream_stream_rpc_method_handler if streams else grpc.stream_unary_rpc_method_handler
    decode = handler.request_deserializer if handler is not None and handler.request_streaming else None
    made: _Handler = make(answer, decode, None if handler is None else handler.response_serializer)
    return made


def _decoded(handler: Any, raw: bytes) -> Any:
    """Decode a message. gRPC would return UNKNOWN where the bytes are no message, although the error is the caller's."""
    try:
        return handler.request_deserializer(raw)
    except DecodeError:
        problem = "the bytes are not a message of this method"
        raise InvalidArgumentError(problem, subject="request", remedy="Send egotools.v1 messages") from None


def _metadata(context: _Context, key: str) -> str:
    found = dict(context.invocation_metadata() or ()).get(key, "")
    return found if isinstance(found, str) else ""


class StandardInterceptor(grpc.aio.ServerInterceptor):
    """Bounds health and reflection apart from the calls of the service, so that ``Check`` is answered whatever else is
    open. ``admission`` is of these services alone: who sends half a health check takes no room from calls, and none for
    long. ``streams`` counts their open streams, but for the first of each connection: a client that watches health has
    one, and others at the same address, behind a proxy, cannot take its place. Connections are bounded."""

    def __init__(self, services: tuple[str, ...], access: Access, admission: Admission, streams: PeerCalls) -> None:
        self._prefixes = tuple(f"/{service}/" for service in services)
        self._access, self._admission, self._streams = access, admission, streams
        self._connections: set[str] = set()  # that have a first stream
        self._open: set[asyncio.Task[Any] | None] = set()
        self._ending = False

    def end_streams(self) -> None:
        """End all streams, which would last until the end of the grace period. Those who watch health have had the last status."""
        self._ending = True
        for task in filter(None, list(self._open)):
            task.cancel()

    async def intercept_service(
        self, continuation: _Next, handler_call_details: grpc.HandlerCallDetails
    ) -> _Handler | None:
        """Wrap the handler of a method of these services."""
        path = handler_call_details.method
        handler: Any = await continuation(handler_call_details)
        if handler is None or not path.startswith(self._prefixes):
            return handler  # type: ignore[no-any-return]

        async def answer(requests: Any, context: Any) -> Any:
            await self._access.admit(context, path)
            if self._ending and handler.response_streaming:
                return None  # a client that watches health begins anew at once
            peer = peer_of(context)
            try:
                if handler.request_streaming:
                    self._begin_stream(peer, context)
                    async for reply in handler.stream_stream(requests, context):
                        await context.write(reply)
                    return None
                raw, held = await self._admission.read("", peer, context)
                held.resize(0)  # a watcher holds none of it
                request = _decoded(handler, raw)
                if not handler.response_streaming:
                    return await handler.unary_unary(request, context)
                self._begin_stream(peer, context)  # only now: a client that still sends would see CANCELLED instead
                return await handler.unary_stream(request, context)
            except EgotoolsError as error:
                await context.abort(grpc.StatusCode[error.grpc_code], str(error))
            except asyncio.CancelledError:
                if not self._ending:
                    raise

        return _as_streams(handler, answer)

    def _begin_stream(self, peer: str, context: Any) -> None:
        connection = context.peer()  # its address with the port
        if connection in self._connections:
            end = self._streams.begin(peer)
            context.add_done_callback(lambda _: end())
        else:
            self._connections.add(connection)
            context.add_done_callback(lambda _: self._connections.discard(connection))
        task = asyncio.current_task()
        self._open.add(task)
        context.add_done_callback(lambda _: self._open.discard(task))
