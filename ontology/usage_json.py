"""The JSON form of :class:`~egotools.usage_lines.UsageLines`."""

from __future__ import annotations

from functools import cache
from typing import Any

from egotools.usage_lines import UsageLines

__all__ = ["usage_from_json", "usage_to_json"]


def usage_to_json(usage: UsageLines) -> dict[str, Any]:
    """The JSON form, without fields that have their default."""
    row: dict[str, Any] = _codec().dump_python(usage, mode="json", exclude_defaults=True)
    return row


def usage_from_json(row: Any) -> UsageLines:
    """Read the JSON form.

    :raises ValueError: for another value.
    """
    usage: UsageLines = _codec().validate_python(row)
    return usage


@cache
def _codec() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(UsageLines)
