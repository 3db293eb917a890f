"""Count the fields of a message on the wire before it is decoded: empty values take 2 bytes there, and 40 in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from google.protobuf.descriptor import Descriptor

from ontology.errors import InvalidArgumentError

__all__ = ["MAX_FIELDS", "check_fields"]

MAX_FIELDS = 20_000
"""Most fields of one request, those of its parts included. A request with every limit of the contract reached has 10,000."""

_VARINT, _FIXED_64, _TEXT, _FIXED_32 = 0, 1, 2, 5


def check_fields(raw: bytes, kind: Descriptor, most: Mapping[str, int], most_fields: int = MAX_FIELDS) -> None:
    """Check the number of fields of a message. Bytes that are not a message are left to the decoder.

    :param raw: the message as it came.
    :param kind: its type.
    :param most: name of a repeated field of the message → most values.
    :param most_fields: of the whole message.
    :raises InvalidArgumentError: naming the field that has too many values; no more of the message is read then.
    """
    limits = {kind.fields_by_name[name].number: limit for name, limit in most.items()}
    seen: Counter[int] = Counter()
    parts: list[tuple[int, int, Descriptor | None, int]] = [(0, len(raw), kind, 0)]
    count = 0
    while parts:
        at, end, part, outer = parts.pop()
        while at < end:
            tag, at = _number(raw, at)
            number, form = tag >> 3, tag & 7
            size = 0
            if form == _VARINT:
                _, at = _number(raw, at)
            elif form == _TEXT:
                size, at = _number(raw, at)
            elif form in (_FIXED_64, _FIXED_32):
                size = 8 if form == _FIXED_64 else 4
            count += 1
            if part is kind and not outer:
                seen[number] += 1
                if seen[number] > limits.get(number, most_fields):
                    raise _too_many(kind, number, limits[number] if number in limits else most_fields)
            if count > most_fields:
                raise _too_many(kind, outer or number, most_fields)
            field = part.fields_by_number.get(number) if part is not None and form == _TEXT else None
            if size and field is not None and field.message_type is not None:
                parts.append((at, min(at + size, end), field.message_type, outer or number))
            at += size


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """Read a variable-length number; (0, end) where there is none."""
    value = shift = 0
    while at < len(raw) and shift < 70:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return 0, len(raw)


def _too_many(kind: Descriptor, number: int, most: int) -> InvalidArgumentError:
    field = kind.fields_by_number.get(number)
    name = field.name if field is not None else "request"
    return InvalidArgumentError(
        f"there are more than {most:,} values", subject=name, remedy="Send fewer in one call, or split it into several"
    )
