"""The interceptor of every call: it maps errors to statuses and logs one line for the call."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import grpc
from google.protobuf.message import DecodeError, Message

from egotools.v1 import egotools_pb2 as pb
from ontology.errors import EgotoolsError, InvalidArgumentError, NotReadyError
from services.server.call_record import TENANT_METADATA_KEY, CallRecord, begin_call
from services.server.error_status import (
    ERROR_METADATA_KEY,
    MAX_DETAILS_BYTES,
    cut,
    error_message,
    internal_error,
    status_code,
)
from services.server.logs import fields

__all__ = ["CallInterceptor", "report_incident"]

_LOG = logging.getLogger("egotools.server")
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


_STOPPING = NotReadyError("the server is stopping", remedy="Use another replica")


def report_incident(method: str) -> pb.Error:
    """Log the exception that is being handled, without its message, and return the error for the caller."""
    error = internal_error()
    _LOG.exception("incident", extra=fields(incident_id=error.incident_id, method=method))
    return error


class _Undecodable:
    """Placeholder for a request whose bytes cannot be decoded."""


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps the calls of one service. Calls of health and reflection are not wrapped.

    :param service: full name of the service.
    :param max_message_bytes: maximum size of a response; a larger one becomes an error with a remedy.
    """

    def __init__(self, service: str, *, max_message_bytes: int) -> None:
        self._prefix = f"/{service}/"
        self._max_message_bytes = max_message_bytes
        self._tasks: set[asyncio.Task[Any]] = set()
        self._abandoned = False

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
        method = handler_call_details.method
        if handler is None or not method.startswith(self._prefix) or handler.unary_unary is None:
            return handler
        behaviour: Any = handler.unary_unary

        async def wrapped(request: Any, context: _Context) -> Any:
            return await self._call(method.removeprefix(self._prefix), behaviour, request, context)

        make_handler: Any = grpc.unary_unary_rpc_method_handler
        wrapper: _Handler = make_handler(
            wrapped,
            request_deserializer=_tolerant(handler.request_deserializer),
            response_serializer=handler.response_serializer,
        )
        return wrapper

    async def _call(self, method: str, behaviour: Any, request: Any, context: _Context) -> Any:
        record = CallRecord(method=method, peer=_host(context.peer()), tenant=_tenant(context))
        begin_call(record)
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
        try:
            response, error = await self._run(record, behaviour, request, context)
        except asyncio.CancelledError:
            if not self._abandoned:
                remaining = context.time_remaining()
                _log(record, "DEADLINE_EXCEEDED" if remaining is not None and remaining <= 0 else "CANCELLED")
                raise
            response, error = None, error_message(_STOPPING)
        finally:
            if task is not None:
                self._tasks.discard(task)
        if error is not None:
            code = status_code(error.code)
            _log(record, code.name, reason=error.reason)
            await context.abort(code, _details(error), ((ERROR_METADATA_KEY, error.SerializeToString()),))
        _log(record, "OK")
        return response

    async def _run(
        self, record: CallRecord, behaviour: Any, request: Any, context: _Context
    ) -> tuple[Message | None, pb.Error | None]:
        try:
            if isinstance(request, _Undecodable):
                raise InvalidArgumentError(
                    "the bytes are not a message of this method", subject="request", remedy="Send egotools.v1 messages"
                )
            response: Message = await behaviour(request, context)
            self._check_size(response)
        except EgotoolsError as error:
            return None, error_message(error)
        except Exception:
            unexpected = report_incident(record.method)
            record.log_fields["incident_id"] = unexpected.incident_id
            return None, unexpected
        return response, None

    def _check_size(self, response: Message) -> None:
        size = response.ByteSize()
        if size > self._max_message_bytes:
            raise InvalidArgumentError(
                f"the answer has {size:,} bytes; at most {self._max_message_bytes:,} are sent",
                subject="max_message_bytes",
                remedy="Request fewer tools, without schema or reasons, or raise the limit of server and client",
            )


def _host(peer: str) -> str:
    """The address of a peer without its port: ``ipv4:10.0.0.7:49152`` → ``ipv4:10.0.0.7``."""
    return peer.rpartition(":")[0] or peer


def _tenant(context: _Context) -> str:
    found = dict(context.invocation_metadata() or ()).get(TENANT_METADATA_KEY, "")
    return found if isinstance(found, str) else ""


def _tolerant(deserializer: Any) -> Any:
    """A deserializer that never raises: gRPC would return UNKNOWN, although the error is the caller's."""

    def deserialize(data: bytes) -> Any:
        try:
            return deserializer(data)
        except DecodeError:
            return _Undecodable()

    return deserialize


def _details(error: pb.Error) -> str:
    text = f"{error.subject}: {error.message}" if error.subject else error.message
    return cut(f"{text} {error.remedy}".strip(), MAX_DETAILS_BYTES)


def _log(record: CallRecord, code: str, **values: Any) -> None:
    spent_ms = round((time.monotonic() - record.started) * 1e3, 3)
    _LOG.info("call", extra=fields(method=record.method, code=code, ms=spent_ms, **record.log_fields, **values))
