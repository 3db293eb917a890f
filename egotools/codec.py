"""Convert values to protobuf messages and back, field by field: both have the same field names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import grpc
from google.protobuf.message import DecodeError

from egotools.client_errors import ClientError, client_error_of
from egotools.v1 import egotools_pb2 as pb
from egotools.values import Query, Response

__all__ = [
    "batch_results",
    "error_from_rpc",
    "message_fields",
    "read_response",
    "read_result",
    "read_value",
    "valid_text",
    "wrong_answer",
]

_T = TypeVar("_T")
_Reader = Callable[[Any, "_Parts"], Any]
_MOST_PARTS = 100_000
_CANCELLED_HERE = ("Channel closed!", "Locally cancelled")
_ERROR_METADATA_KEY = "egotools-error-bin"
_CODE_NAMES = {code.value[0]: code.name for code in grpc.StatusCode}


def message_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a value as arguments for the constructor of its message."""
    kind: Any = type(value)
    return {name: _plain(getattr(value, name)) for name in _names(kind)}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return dict(value)
    return message_fields(value) if hasattr(value, "__dataclass_fields__") else value


def valid_text(text: str) -> str:
    """Return a valid UTF-8 text: an unpaired surrogate, which JSON allows and UTF-8 does not, becomes a question mark."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def read_value(kind: type[_T], message: Any, **others: Any) -> _T:
    """Convert a message to a value.

    :param kind: a class of :mod:`egotools.values`.
    :param message: the message with the same fields.
    :param others: fields of the value that the message does not have.
    :raises InternalServerError: when it has more parts than any honest answer.
    """
    return _read(kind, message, _Parts(), others)


class _Parts:
    """The parts that an answer may still have: an empty one takes 2 bytes in a message, and 40 microseconds to convert."""

    def __init__(self) -> None:
        self.left = _MOST_PARTS

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise wrong_answer(f"the answer has more than {_MOST_PARTS:,} parts")


def _read(kind: type[_T], message: Any, parts: _Parts, others: Mapping[str, Any]) -> _T:
    value_class: Any = kind
    return kind(**{name: read(message, parts) for name, read in _readers(value_class) if name not in others}, **others)


@cache
def _readers(kind: Any) -> tuple[tuple[str, _Reader], ...]:
    hints = get_type_hints(kind)
    return tuple((each.name, _reader(each.name, hints[each.name])) for each in fields(kind))


def _reader(name: str, hint: Any) -> _Reader:
    origin, inner = get_origin(hint), get_args(hint)
    item: Any = inner[0] if inner else None
    if origin is tuple and hasattr(item, "__dataclass_fields__"):
        return lambda message, parts: _read_all(item, getattr(message, name), parts)
    if origin is tuple:
        return lambda message, parts: tuple(getattr(message, name))
    if type(None) in inner:  # an optional number
        return lambda message, parts: getattr(message, name) if message.HasField(name) else None
    if origin is not None:
        return lambda message, parts: dict(getattr(message, name))
    if hasattr(hint, "__dataclass_fields__"):
        return lambda message, parts: _read(hint, getattr(message, name), parts, {})
    return lambda message, parts: getattr(message, name)


def _read_all(kind: Any, messages: Any, parts: _Parts) -> tuple[Any, ...]:
    parts.take(len(messages))
    return tuple(_read(kind, each, parts, {}) for each in messages)


def read_response(message: pb.RetrieveResponse, asked: Query) -> Response:
    """Convert the answer to a request.

    :raises InternalServerError: when it has more tools than were asked for, or more parts than any honest answer.
    """
    return _response(message, asked, _Parts())


def _response(message: pb.RetrieveResponse, asked: Query, parts: _Parts) -> Response:
    if len(message.tools) > asked.k:
        raise wrong_answer(f"the answer has {len(message.tools):,} tools, and {asked.k:,} were asked for")
    return _read(Response, message, parts, {})


def batch_results(message: pb.RetrieveBatchResponse, asked: Sequence[Query]) -> tuple[Response | ClientError, ...]:
    """Return a response or an error for each request, in their order.

    :raises InternalServerError: when there is not one result for each request, and as for :func:`read_response`.
    """
    if len(message.results) != len(asked):
        raise wrong_answer(f"the answer has {len(message.results):,} results for {len(asked):,} requests")
    parts = _Parts()
    return tuple(_result(result, query, parts) for result, query in zip(message.results, asked, strict=True))


def read_result(message: pb.RetrieveResult, asked: Query) -> Response | ClientError:
    """Return the response or the error of one request; raises as :func:`read_response`."""
    return _result(message, asked, _Parts())


def _result(message: pb.RetrieveResult, asked: Query, parts: _Parts) -> Response | ClientError:
    return _response(message.response, asked, parts) if message.HasField("response") else _client_error(message.error)


def wrong_answer(problem: str) -> ClientError:
    """Return the error for an answer that no server of this project sends."""
    return client_error_of("INTERNAL", problem, reason="WRONG_ANSWER", remedy="Check which server answers.")


def _client_error(error: pb.Error) -> ClientError:
    """Return the exception for an ``Error`` message. The caller raises it, or stores it as one result of a batch."""
    return client_error_of(
        _CODE_NAMES.get(error.code, "UNKNOWN"),
        error.message,
        reason=error.reason,
        subject=error.subject,
        remedy=error.remedy,
        incident_id=error.incident_id,
    )


def error_from_rpc(failure: Any) -> ClientError:
    """Return the exception for a failed call (``grpc.RpcError`` of a sync or async channel)."""
    code: grpc.StatusCode = failure.code()
    details = str(failure.details() or "") or "the call failed"
    if code is grpc.StatusCode.CANCELLED and not details.startswith(_CANCELLED_HERE):  # by the server, in each attempt
        return client_error_of("UNAVAILABLE", details, reason="CANCELLED_BY_SERVER")
    sent = _sent_error(failure.trailing_metadata())
    if sent is not None and _CODE_NAMES.get(sent.code) == code.name:
        return _client_error(sent)
    return client_error_of(code.name, details)


def _sent_error(metadata: Iterable[tuple[str, str | bytes]] | None) -> pb.Error | None:
    for key, value in metadata or ():
        if key == _ERROR_METADATA_KEY and isinstance(value, bytes):
            try:
                return pb.Error.FromString(value)
            except DecodeError:
                return None
    return None
