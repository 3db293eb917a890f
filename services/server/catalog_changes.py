"""The interface ``CatalogChanges``: adding and removing single tools of a catalogue while it is served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from retrieval.engine import Engine

__all__ = ["CatalogChange", "CatalogChanges"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogChange:
    """What was changed, in numbers of tools, and the engine that answers from now on.

    :param unknown: ids of a removal that the catalogue does not have.
    """

    engine: Engine
    added: int = 0
    replaced: int = 0
    removed: int = 0
    unchanged: int = 0
    unknown: int = 0


class CatalogChanges(Protocol):
    """Changes the tools of catalogues. Each method returns when its change is durable. Called on threads, one at a time for a
    tenant."""

    def upsert(self, tenant: str, tools: Sequence[str]) -> CatalogChange:
        """Add tools, or replace those with the same ids.

        :param tools: each one tool as a JSON object.
        :raises InvalidArgumentError: for what is no tool; nothing is changed then.
        """

    def delete(self, tenant: str, ids: Sequence[str]) -> CatalogChange:
        """Remove tools; unknown ids are counted."""
