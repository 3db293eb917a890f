"""The interceptor of every call: it admits the call, maps errors to statuses, and logs one line for the call."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Any, TypeAlias

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message

from egotools.v1 import egotools_pb2 as pb
from ontology.errors import EgotoolsError, InvalidArgumentError, NotReadyError, OverloadedError
from services.server.admission.admission import Admission, HeldBytes, peer_of
from services.server.caller import TENANT_METADATA_KEY, TRACE_METADATA_KEY, CallRecord, begin_call
from services.server.error_status import (
    ERROR_METADATA_KEY,
    answer_too_large,
    error_details,
    error_message,
    internal_error,
    status_code,
)
from services.server.logs import fields
from services.server.observe.audit_log import AuditTrail
from services.server.observe.call_observer import NO_OBSERVERS, CallObservers
from services.server.settings import ServerSettings

__all__ = ["MOST_TRUSTED_FIELDS", "CallInterceptor", "report_incident"]

_LOG = logging.getLogger("egotools.server")
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


_PUSHBACK_KEY = "grpc-retry-pushback-ms"
_ATTEMPTS_KEY = "grpc-previous-rpc-attempts"
_MOST_ATTEMPTS = 4
_OTHER_REPLICA_S = 0.03
MOST_TRUSTED_FIELDS = 1_000_000
"""Fields of one message of callers who may send large ones."""
_STOPPING = NotReadyError("the server is stopping", remedy="Use another replica")


def report_incident(method: str) -> pb.Error:
    """Log the exception that is being handled, without its message, and return the error for the caller."""
    error = internal_error()
    _LOG.exception("incident", extra=fields(incident_id=error.incident_id, method=method))
    return error


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps the calls of one service. Calls of health and reflection are not wrapped.

    :param service: full name of the service.
    :param max_message_bytes: maximum size of a response; a larger one becomes an error with a remedy.
    :param admission: the room for calls; None for that of a service whose callers are trusted with large messages.
    :param check: raises the error of a call that need not be read, because it would be refused after it.
    :param observers: are told of each answer and of the end of each call.
    :param trail: writes the audit log of the calls that change something; None where none of the service does.
    """

    def __init__(
        self,
        service: str,
        *,
        max_message_bytes: int,
        admission: Admission | None = None,
        check: Callable[[CallRecord], None] = lambda record: None,
        observers: CallObservers = NO_OBSERVERS,
        trail: AuditTrail | None = None,
    ) -> None:
        self._prefix = f"/{service}/"
        methods: Any = descriptor_pool.Default().FindServiceByName(service).methods
        self._kinds: dict[str, Descriptor] = {method.name: method.input_type for method in methods}
        self._max_message_bytes = max_message_bytes
        self._check = check
        self._observers = observers
        self._trail = trail
        self.admission = admission or Admission(
            ServerSettings(max_message_bytes=max_message_bytes),
            most_single=max_message_bytes,
            most_fields=MOST_TRUSTED_FIELDS,
        )
        self._tasks: set[asyncio.Task[Any]] = set()
        self._abandoned = False
        self.begun = 0  # calls since the start

    @property
    def in_flight(self) -> int:
        """Number of calls that run now."""
        return len(self._tasks)

    def abandon(self) -> None:
        """End every running call with UNAVAILABLE, so that its caller uses another replica."""
        self._abandoned = True
        for task in list(self._tasks):
            task.cancel()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        """Wrap the handler of a call to the service."""
        handler = await continuation(handler_call_details)
        path = handler_call_details.method
        if handler is None and path.startswith(self._prefix):
            self._observers.finished(CallRecord(method=""), "UNIMPLEMENTED", "", 0.0)
        if handler is None or not path.startswith(self._prefix):
            return handler
        method = path.removeprefix(self._prefix)
        found: Any = handler

        async def answer(requests: Any, context: _Context) -> Any:
            return await self._call(method, found, requests, context)

        make: Any = (
            grpc.stream_stream_rpc_method_handler if found.response_streaming else grpc.stream_unary_rpc_method_handler
        )
        wrapper: _Handler = make(
            answer,
            request_deserializer=partial(_decoded, found) if found.request_streaming else None,
            response_serializer=found.response_serializer,
        )
        return wrapper

    async def _call(self, method: str, handler: Any, requests: Any, context: _Context) -> Any:
        record = CallRecord(
            method=method,
            peer=peer_of(context),
            tenant=_metadata(context, TENANT_METADATA_KEY),
            traceparent=_metadata(context, TRACE_METADATA_KEY),
        )
        begin_call(record)
        self.begun += 1
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
        try:
            response, error = await self._run(record, handler, requests, context)
        except asyncio.CancelledError:
            if not self._abandoned:
                remaining = context.time_remaining()
                code = "DEADLINE_EXCEEDED" if remaining is not None and remaining <= 0 else "CANCELLED"
                if self._trail is not None:
                    self._trail.left(record, code)
                self._ended(record, code)
                raise
            response, error = None, _STOPPING
        finally:
            if task is not None:
                self._tasks.discard(task)
        if error is not None:
            message = error if isinstance(error, pb.Error) else error_message(error)
            status = status_code(message.code)
            await self._settle(record, status.name, message.reason)
            trailing: tuple[tuple[str, str | bytes], ...] = (
                (ERROR_METADATA_KEY, message.SerializeToString()),
                *_retry_hint(status, error, context),
            )
            await context.abort(status, error_details(message), trailing)
        await self._settle(record, "OK")
        return response

    async def _run(
        self, record: CallRecord, handler: Any, requests: Any, context: _Context
    ) -> tuple[Message | None, EgotoolsError | pb.Error | None]:
        """Return the answer, None for one that was sent as a stream; or the error."""
        try:
            self._check(record)
            who = record.caller.name or record.peer
            self.admission.begin(who, context)
            if handler.request_streaming:
                await self._begin(record, None)
                return await handler.stream_unary(requests, context), None
            kind = self._kinds[record.method]
            raw, held = await self.admission.receive(record.method, kind, who, context)
            request = _decoded(handler, raw)
            del raw
            await self._begin(record, request)
            if handler.response_streaming:
                await self._stream(record, request, handler.unary_stream(request, context), held, context)
                return None, None
            response: Message = await handler.unary_unary(request, context)
            held.resize(self._checked_size(response))
            self._observers.answered(record, request, response)
        except EgotoolsError as error:
            return None, error
        except Exception:
            unexpected = report_incident(record.method)
            record.log_fields["incident_id"] = unexpected.incident_id
            return None, unexpected
        return response, None

    async def _begin(self, record: CallRecord, request: Message | None) -> None:
        if self._trail is not None:
            await self._trail.begin(record, getattr(request, "snapshot_id", ""))

    async def _settle(self, record: CallRecord, code: str, reason: str = "") -> None:
        """As :meth:`_ended`, when the outcome of a change is in the audit log."""
        if self._trail is not None:
            await self._trail.end(record, code)
        self._ended(record, code, reason)

    def _ended(self, record: CallRecord, code: str, reason: str = "") -> None:
        """Log a call, and tell the observers, once for each call."""
        seconds = time.monotonic() - record.started
        said = {"reason": reason} if reason else {}
        named = fields(method=record.method, code=code, ms=round(seconds * 1e3, 3), **record.log_fields, **said)
        _LOG.info("call", extra=named)
        self._observers.finished(record, code, reason, seconds)

    async def _stream(
        self, record: CallRecord, request: Any, responses: AsyncGenerator[Message], held: HeldBytes, context: _Context
    ) -> None:
        """Send each answer when the one before was taken, so that a caller who does not read has one at most."""
        async with aclosing(responses):
            async for response in responses:
                held.resize(self._checked_size(response))
                self._observers.answered(record, request, response)
                await context.write(response)

    def _checked_size(self, response: Message) -> int:
        size = response.ByteSize()
        if size > self._max_message_bytes:
            raise answer_too_large(size, self._max_message_bytes)
        return size


def _decoded(handler: Any, raw: bytes) -> Any:
    """Decode a message. gRPC would return UNKNOWN where the bytes are no message, although the error is the caller's."""
    try:
        return handler.request_deserializer(raw)
    except DecodeError:
        raise InvalidArgumentError(
            "the bytes are not a message of this method", subject="request", remedy="Send egotools.v1 messages"
        ) from None


def _retry_hint(
    code: grpc.StatusCode, error: EgotoolsError | pb.Error, context: _Context
) -> tuple[tuple[str, str], ...]:
    """Say when the caller should try again: soon at another replica first, then later each time; never what is too large."""
    if code is not grpc.StatusCode.RESOURCE_EXHAUSTED:
        return ()
    if not isinstance(error, OverloadedError):
        return ((_PUSHBACK_KEY, "-1"),)
    tried = str(dict(context.invocation_metadata() or ()).get(_ATTEMPTS_KEY, "0"))
    attempts = min(int(tried), _MOST_ATTEMPTS) if tried.isascii() and tried.isdecimal() else 0
    wait_s = error.retry_after_s * 2 ** (attempts - 1) if attempts else _OTHER_REPLICA_S
    return ((_PUSHBACK_KEY, str(round(wait_s * random.uniform(0.75, 1.25) * 1e3))),)


def _metadata(context: _Context, key: str) -> str:
    found = dict(context.invocation_metadata() or ()).get(key, "")
    return found if isinstance(found, str) else ""
