"""One operation of an OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Operation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation and its path item.

    :param method: in upper case.
    :param item: the path item that contains it, with references resolved.
    """

    id: str
    method: str
    path: str
    item: Mapping[str, Any]
    body: Mapping[str, Any]
