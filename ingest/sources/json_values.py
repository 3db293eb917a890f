"""Access to parsed JSON by type: a value of another type is treated as missing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

__all__ = ["as_list", "as_mapping", "as_number", "as_text", "is_true"]

_MAX_NUMBER_CHARS = 40


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return the value, or an empty mapping when it is no mapping."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value, or an empty list when it is no list."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return the value, or an empty string when it is no string."""
    return value if isinstance(value, str) else ""


def as_number(value: Any) -> float | None:
    """Return a number, also one that a document writes as text (``"50"``); else None. A whole number stays an ``int``."""
    if isinstance(value, str) and len(value) <= _MAX_NUMBER_CHARS:
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value


def is_true(value: Any) -> bool:
    """Whether a flag is set, also one that a document writes as text (``"true"``)."""
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")
