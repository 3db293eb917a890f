"""Values that tools consume and produce, as fields of entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ingest.linking.value_kinds import Kinds

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
    :param location: where an HTTP request has it, as :attr:`~ontology.tool.Parameter.location`.
    :param kinds: the kinds of value that the input takes; empty where unknown.
    :param context: whether it is a context parameter, which the request or the caller's configuration fills.
    :param is_new: whether the description says that the caller chooses the value for something new.
    :param collection: the normal path of the collection that it is an item of; empty where the path does not tell.
    """

    parameter: str
    type: str
    key: Key
    confidence: float
    required: bool
    identifier: bool
    location: str = ""
    kinds: Kinds = frozenset()
    context: bool = False
    collection: str = ""
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducedValue:
    """The value that an output produces.

    :param output: name of the output; empty for a value inferred from the tool's name.
    :param relevance: relevance of the entity for the tool, in [0, 1]: 1 for its subject, less for a kind of it (popular
        movies), least where the tool only refers to it.
    :param kinds: the kinds of value that the output holds; empty where unknown.
    :param is_object: whether the output is the key of an object of the entity, and not a reference to one.
    :param is_outer: whether it stands in at most one named object: not in ``value[].parentReference.ids``.
    """

    output: str
    type: str
    key: Key
    confidence: float
    relevance: float = 1.0
    kinds: Kinds = frozenset()
    is_object: bool = False
    is_outer: bool = True
