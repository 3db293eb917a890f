"""Values of parsed JSON by their type: a value of another type counts as absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["as_list", "as_mapping", "as_text"]


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The value, or an empty mapping when it is no object."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    """The value, or an empty list when it is no list."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """The value, or an empty text when it is no text."""
    return value if isinstance(value, str) else ""
