"""The interface ``ToolChanges``: adding and removing single tools of a catalogue while it is served."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from ontology.errors import UnsupportedError
from retrieval.engine import Engine

__all__ = ["ChangeCounts", "MakeChanges", "NoToolChanges", "ServeChanged", "ToolChanges"]

ServeChanged: TypeAlias = Callable[[str, Any], None]
"""Serves an engine of a tenant from the next call on; from any thread."""


class ChangeCounts(Protocol):
    """What was changed, in numbers of tools, and the id of the state that answers from now on: that of the snapshot, perhaps
    with ``+`` and more behind it.
    """

    @property
    def added(self) -> int:
        """Tools that were not there."""

    @property
    def replaced(self) -> int:
        """Tools that were there, and were other."""

    @property
    def removed(self) -> int:
        """Tools that are no longer there."""

    @property
    def unchanged(self) -> int:
        """Tools that are as they were."""

    @property
    def unknown(self) -> int:
        """Ids of a removal that the catalogue does not have."""

    @property
    def snapshot_id(self) -> str:
        """The id of the state."""


class ToolChanges(Protocol):
    """Changes the tools of catalogues. The methods are called on threads; for a tenant, one at a time."""

    def adopt(self, tenant: str, engine: Any) -> Engine:
        """Return the engine of a snapshot with the changes that are kept for it; later changes of the tenant go there."""

    def upsert(self, tenant: str, tools: Sequence[Mapping[str, Any]]) -> ChangeCounts:
        """Add tools, or replace those with the same ids; return when the change is durable and served.

        :raises EgotoolsError: for what is no tool; nothing is changed then.
        """

    def delete(self, tenant: str, ids: Sequence[str]) -> ChangeCounts:
        """Remove tools; return when the change is durable and served."""

    def follow(self, tenant: str) -> Engine | None:
        """Return the engine with the changes that another process has made since; None where this process makes them."""

    def unmerged(self) -> Mapping[str, float]:
        """Return tenant → age in seconds of its oldest change that is in no snapshot; from any thread."""

    def close(self) -> None:
        """Stop work in the background, and close the files."""


MakeChanges: TypeAlias = Callable[[ServeChanged], ToolChanges]


class NoToolChanges:
    """A server whose catalogues change as a whole only."""

    def adopt(self, tenant: str, engine: Engine) -> Engine:
        """Return the engine as it is."""
        return engine

    def upsert(self, tenant: str, tools: Sequence[Mapping[str, Any]]) -> ChangeCounts:
        """Refuse.

        :raises UnsupportedError: always.
        """
        raise _unsupported()

    def delete(self, tenant: str, ids: Sequence[str]) -> ChangeCounts:
        """Refuse.

        :raises UnsupportedError: always.
        """
        raise _unsupported()

    def follow(self, tenant: str) -> Engine | None:
        """Nobody changes tools."""
        return None

    def unmerged(self) -> Mapping[str, float]:
        """Nothing is changed."""
        return {}

    def close(self) -> None:
        """Nothing is open."""


def _unsupported() -> UnsupportedError:
    return UnsupportedError(
        "this server cannot change single tools", remedy="Build a snapshot of the changed documents, and publish it"
    )
