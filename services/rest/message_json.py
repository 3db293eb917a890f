"""Messages as JSON: proto3 JSON with the names of the contract, and 64-bit numbers as numbers.

proto3 JSON writes a 64-bit number as a text, because some readers have 53 bits. The contract's are counts, which stay below that, and
every reader of proto3 JSON takes a number too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from pydantic import BaseModel

__all__ = ["json_bytes", "message_json", "message_of"]

_M = TypeVar("_M", bound=Message)


def message_of(kind: type[_M], body: BaseModel, **more: Any) -> _M:
    """Return the message of a checked body.

    :param more: fields that are not part of the body.
    """
    return ParseDict(body.model_dump(exclude_unset=True, exclude_none=True) | more, kind())


def json_bytes(value: Any) -> bytes:
    """Return a value as compact JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def message_json(message: Message) -> dict[str, Any]:
    """Return a message as an object. A field is left out only when it has a presence of its own and no value."""
    return {
        name: write(getattr(message, name))
        for name, has_presence, write in _writers(message.DESCRIPTOR)
        if not has_presence or message.HasField(name)
    }


@cache
def _writers(message: Descriptor) -> tuple[tuple[str, bool, Callable[[Any], Any]], ...]:
    return tuple((field.name, field.has_presence, _writer(field)) for field in message.fields)


def _writer(field: FieldDescriptor) -> Callable[[Any], Any]:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        one = _one(field.message_type.fields_by_name["value"])
        return lambda values: {key: one(values[key]) for key in sorted(values)}
    one = _one(field)
    return (lambda values: [one(each) for each in values]) if field.is_repeated else one


def _one(field: FieldDescriptor) -> Callable[[Any], Any]:
    if field.message_type is not None:
        return message_json
    if field.enum_type is not None:
        names = {value.number: value.name for value in field.enum_type.values}
        return lambda number: names.get(number, number)
    return lambda value: value
