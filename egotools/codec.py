"""Convert values to protobuf messages and back, field by field: both have the same field names.

What a caller gives is checked on the way (:func:`request_message`): an error names the field.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import grpc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from egotools.client_errors import ClientError, InvalidRequestError, client_error_of
from egotools.v1 import egotools_pb2 as pb
from egotools.values import Query, Response

_T = TypeVar("_T")
_M = TypeVar("_M", bound=Message)
_Reader = Callable[[Any, "_Parts"], Any]
_MOST_PARTS = 100_000
_CANCELLED_HERE = ("Channel closed!", "Locally cancelled")
_ERROR_METADATA_KEY = "egotools-error-bin"
_CODE_NAMES = {code.value[0]: code.name for code in grpc.StatusCode}
_SCHEMA_FORMATS = {full.removeprefix("SCHEMA_FORMAT_").lower(): number for full, number in pb.SchemaFormat.items()}


def message_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a value as arguments for the constructor of its message."""
    return {name: _plain(getattr(value, name)) for name in type(value).__dataclass_fields__}


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


def request_message(kind: type[_M], given: Mapping[str, Any]) -> _M:
    """Return a request message; the server checks the allowed ranges.

    :param given: field → value: text, number, boolean, list or mapping.
    :raises InvalidRequestError: naming a field whose value no message can contain: another type, a text with an unpaired surrogate, a
        string in the place of a list, an unknown schema format, a number of more than 32 bits.
    """
    known = kind.DESCRIPTOR.fields_by_name
    return kind(**{name: _field(known[name], name, value) for name, value in given.items()})


def _field(field: Any, name: str, value: Any) -> Any:
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        if not isinstance(value, Mapping):
            raise _invalid(name, "a mapping of names to values", value)
        inner = message.fields_by_name["value"]
        return {_text(name, key): _field(inner, f"{name}.{_text(name, key)}", each) for key, each in value.items()}
    if not field.is_repeated and message is not pb.StringList.DESCRIPTOR:
        return _single(field, name, value)
    if isinstance(value, str) or not isinstance(value, Iterable):  # a string is a sequence of characters
        raise _invalid(name, "a list of texts", value)
    if field.is_repeated:
        return [_single(field, name, each) for each in value]
    return pb.StringList(values=[_text(name, each) for each in value])


def _single(field: Any, name: str, value: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_STRING:
        return _text(name, value)
    if field.type == FieldDescriptor.TYPE_ENUM:
        if _text(name, value).lower() not in _SCHEMA_FORMATS:
            raise _invalid(name, f"one of {', '.join(_SCHEMA_FORMATS)}", value)
        return _SCHEMA_FORMATS[value.lower()]
    if field.type == FieldDescriptor.TYPE_BOOL:
        if not isinstance(value, bool):
            raise _invalid(name, "True or False", value)
        return value
    if not hasattr(value, "__index__") or not -(2**31) <= operator.index(value) < 2**31:
        raise _invalid(name, "a whole number of 32 bits", value)
    return operator.index(value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _invalid(name, "a text", value)
    if valid_text(value) != value:
        raise _invalid(name, "a text without unpaired surrogates: decode it whole", value)
    return value


def _invalid(name: str, wanted: str, value: Any) -> InvalidRequestError:
    return InvalidRequestError(f"{name} must be {wanted}, not {value!r:.200}", name, reason="INVALID_ARGUMENT")


def read_value(kind: type[_T], message: Any, **others: Any) -> _T:
    """Convert a message to a value of a class of :mod:`egotools.values`; ``others`` are fields that the message does not have.

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
    value_class: Any = hint
    origin, inner = get_origin(hint), get_args(hint)
    item: Any = inner[0] if inner else None
    if origin is tuple and hasattr(item, "__dataclass_fields__"):

        def read_all(message: Any, parts: _Parts) -> tuple[Any, ...]:
            messages = getattr(message, name)
            parts.take(len(messages))
            return tuple(_read(item, each, parts, {}) for each in messages)

        return read_all
    if origin is tuple:
        return lambda message, parts: tuple(getattr(message, name))
    if type(None) in inner:  # an optional number
        return lambda message, parts: getattr(message, name) if message.HasField(name) else None
    if origin is not None:
        return lambda message, parts: dict(getattr(message, name))
    if is_dataclass(hint):
        return lambda message, parts: _read(value_class, getattr(message, name), parts, {})
    return lambda message, parts: getattr(message, name)


def read_response(message: Any, asked: Query, parts: _Parts | None = None) -> Response:
    """Convert the answer to a request.

    :raises InternalServerError: when it has more tools than were asked for, or more parts than any honest answer.
    """
    if len(message.tools) > asked.k:
        raise wrong_answer(f"the answer has {len(message.tools):,} tools, and {asked.k:,} were asked for")
    return _read(Response, message, parts or _Parts(), {})


def batch_results(message: Any, asked: Sequence[Query]) -> tuple[Response | ClientError, ...]:
    """Return a response or an error for each request, in their order.

    :raises InternalServerError: when there is not one result for each request, and as for :func:`read_response`.
    """
    if len(message.results) != len(asked):
        raise wrong_answer(f"the answer has {len(message.results):,} results for {len(asked):,} requests")
    parts = _Parts()
    return tuple(
        read_response(each.response, query, parts) if each.HasField("response") else _client_error(each.error)
        for each, query in zip(message.results, asked, strict=True)
    )


def wrong_answer(problem: str) -> ClientError:
    """Return the error for an answer that no server of this project sends."""
    return client_error_of("INTERNAL", problem, reason="WRONG_ANSWER", remedy="Check which server answers.")


def _client_error(error: pb.Error) -> ClientError:
    others = {name: getattr(error, name) for name in ("reason", "subject", "remedy", "incident_id")}
    return client_error_of(_CODE_NAMES.get(error.code, "UNKNOWN"), error.message, **others)


def error_from_rpc(failure: Any) -> ClientError:
    """Return the exception for a failed call (``grpc.RpcError`` of a sync or async channel)."""
    code: grpc.StatusCode = failure.code()
    details = str(failure.details() or "") or "the call failed"
    if code is grpc.StatusCode.CANCELLED and not details.startswith(_CANCELLED_HERE):  # by the server, in each attempt
        return client_error_of("UNAVAILABLE", details, reason="CANCELLED_BY_SERVER")
    sent = dict(failure.trailing_metadata() or ()).get(_ERROR_METADATA_KEY)
    try:
        error = pb.Error.FromString(sent) if isinstance(sent, bytes) else None
    except DecodeError:
        error = None
    if error is not None and _CODE_NAMES.get(error.code) == code.name:
        return _client_error(error)
    remedy = ""
    if code is grpc.StatusCode.UNAVAILABLE:
        remedy = "Is `egotools serve` running at this address? It loads its models before it answers; --ready-file tells when it does."
    return client_error_of(code.name, details, remedy=remedy)
