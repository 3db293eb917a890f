"""The JSON form of a :class:`~egotools.call.Call`."""

from __future__ import annotations

from functools import cache
from typing import Any

from egotools.call import LOCATIONS, PROTOCOLS, Call
from ontology.errors import DocumentError

__all__ = ["call_from_json", "call_to_json"]


def call_to_json(call: Call) -> dict[str, Any]:
    """The JSON form, without fields that have their default."""
    row: dict[str, Any] = _codec().dump_python(call, mode="json", exclude_defaults=True)
    return row


def call_from_json(row: Any) -> Call:
    """Read the JSON form.

    :raises DocumentError: with the invalid field as its subject.
    """
    from pydantic import ValidationError

    try:
        call: Call = _codec().validate_python(row)
    except ValidationError as error:
        first = error.errors()[0]
        raise _wrong(".".join(("call", *map(str, first["loc"]))), first["msg"]) from None
    if call.protocol not in PROTOCOLS:
        raise _wrong("call.protocol", f"it must be one of {', '.join(PROTOCOLS)}")
    if unknown := {each.location for each in call.arguments} - set(LOCATIONS):
        raise _wrong("call.arguments.location", f"{min(unknown)!r} is none of {', '.join(LOCATIONS)}")
    return call


def _wrong(subject: str, problem: str) -> DocumentError:
    return DocumentError(f"{subject} is not as expected: {problem}", subject=subject, reason="wrong-type")


@cache
def _codec() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Call)
