"""The JSON Schema of an object with named fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["object_schema"]


def object_schema(properties: Mapping[str, Any], required: Iterable[str] = ()) -> dict[str, Any]:
    """The schema of an object; ``required`` is left out where no field is."""
    names = list(required)
    return {"type": "object", "properties": dict(properties), **({"required": names} if names else {})}
