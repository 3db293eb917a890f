"""The interface ``ToolChanges``: adding and removing single tools of a catalogue while it is served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ontology.errors import UnsupportedError
from retrieval.engine import Engine

__all__ = ["ChangedTools", "NoToolChanges", "ToolChanges"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTools:
    """What was changed, in numbers of tools, and the engine that answers from now on.

    :param unknown: ids of a removal that the catalogue does not have.
    """

    engine: Engine
    added: int = 0
    replaced: int = 0
    removed: int = 0
    unchanged: int = 0
    unknown: int = 0


class ToolChanges(Protocol):
    """Changes the tools of catalogues. Each method returns when its change is durable. Called on threads, one at a time for a
    tenant."""

    def upsert(self, tenant: str, tools: Sequence[str]) -> ChangedTools:
        """Add tools, or replace those with the same ids.

        :param tools: each one tool as a JSON object.
        :raises InvalidArgumentError: for what is no tool; nothing is changed then.
        """

    def delete(self, tenant: str, ids: Sequence[str]) -> ChangedTools:
        """Remove tools; unknown ids are counted."""


class NoToolChanges:
    """A server whose catalogues change as a whole only."""

    def upsert(self, tenant: str, tools: Sequence[str]) -> ChangedTools:
        """Refuse.

        :raises UnsupportedError: always.
        """
        raise _unsupported()

    def delete(self, tenant: str, ids: Sequence[str]) -> ChangedTools:
        """Refuse.

        :raises UnsupportedError: always.
        """
        raise _unsupported()


def _unsupported() -> UnsupportedError:
    return UnsupportedError(
        "this server cannot change single tools", remedy="Build a snapshot of the changed documents, and publish it"
    )
