"""Values that tools consume and produce, as fields of entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["AUTH_KEY", "PLAIN_VALUE", "TYPED_RESOURCE", "ConsumedValue", "Key", "ProducedValue"]

Key: TypeAlias = tuple[str, str]
"""``(entity, field)``; for a plain value and a typed resource the entity is a constant below."""
AUTH_KEY: Key = ("session", "token")
"""The key of session ids and session tokens, which a login produces."""
PLAIN_VALUE = ""
"""The entity in the key of a plain value."""
TYPED_RESOURCE = "a"
"""The entity in the key of a typed resource (``image``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumedValue:
    """The value that an input consumes.

    :param confidence: that the key is correct, in [0, 1].
    :param identifier: whether it identifies the entity.
    """

    parameter: str
    type: str
    key: Key
    confidence: float
    required: bool
    identifier: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducedValue:
    """The value that an output produces.

    :param output: name of the output; empty for a value inferred from the tool's name.
    :param relevance: relevance of the entity for the tool, in [0, 1]: 1 for its subject, less for a kind of it (popular
        movies), least where the tool only refers to it.
    """

    output: str
    type: str
    key: Key
    confidence: float
    relevance: float = 1.0
