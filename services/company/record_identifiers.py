"""Identifiers of new records: they count on from the example in the documents, which is the first record's."""

from __future__ import annotations

import re
from random import Random
from uuid import UUID

from services.company.record_kinds import Kind

__all__ = ["next_identifier", "record_id"]

_DIGITS = re.compile(r"\d{2,}(?!.*\d{2})")


def next_identifier(
    kind: Kind, number: int, *, parent: str = "", parent_example: str = "", place: int = 0
) -> str | int:
    """Return the identifier of a record.

    :param number: how many records of the kind were before it.
    :param parent: identifier of the record that it is a part of, and the documents' example of one.
    :param place: how many parts of that record were before it.
    """
    if kind.is_numbered:
        return 10 * (place + 1)
    if kind.properties.get(kind.key, {}).get("format") == "uuid":
        return str(UUID(int=Random(f"{kind.name} {number}").getrandbits(128), version=4))
    example = kind.example
    if parent_example and example.startswith(parent_example + "-"):
        return f"{parent}-{place + 1:02d}"
    if match := _DIGITS.search(example):
        digits = match[0]
        return f"{example[: match.start()]}{int(digits) + number:0{len(digits)}d}{example[match.end() :]}"
    letters = "".join(re.findall(r"^[a-z]|[A-Z]", kind.key.removesuffix("Id") or kind.name)).upper()
    return f"{example or letters}-{1001 + number}"


def record_id(kind: Kind, value: str | int, parent: str = "") -> str:
    """The name of a record in the store, unique in its kind."""
    return f"{parent}/{value}" if kind.is_numbered else str(value)
