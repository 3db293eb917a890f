"""Access to parsed JSON by type: a value of another type is treated as missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["as_list", "as_mapping", "as_text"]


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return the value, or an empty mapping when it is no mapping."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value, or an empty list when it is no list."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return the value, or an empty string when it is no string."""
    return value if isinstance(value, str) else ""
