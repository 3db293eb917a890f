"""The seam between the executor and what it asks: entities by their fields, and the entities at the other end of an edge.

The executor knows no tools. :class:`Resolver` has one implementation over retrieved tools, and one over tables in memory, for tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from planners.query.query_graph import FilterConstraint

__all__ = ["Entity", "Resolver", "Step"]


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity: a mail, a person, a purchase order.

    :param id: its identifier. Of a date it is a half-open interval, ``2025-02-01/2025-03-01`` (ISO 8601; an open end is ``..``, as in
        ``2025-02-01/..``); of the user, ``self``.
    :param fields: what is known of it, JSON values by name. Filters by numbers, booleans, dates, and by text that no lookup of the type
        takes, are checked on them where every candidate carries the field.
    """

    id: str
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Step:
    """An edge in the direction in which it is traversed.

    :param source: type of the end where the traversal starts.
    :param target: type of the end that it finds.
    :param forward: whether that is the direction of the domain.
    """

    source: str
    edge: str
    target: str
    forward: bool


class Resolver(Protocol):
    """What the executor asks. Each method may be called concurrently.

    Each raises :class:`ontology.errors.EgotoolsError` when a tool fails; the executor then ends this branch, not the run.
    """

    async def count(self, kind: str, filters: Sequence[FilterConstraint]) -> int | None:
        """Return how many entities of a type meet the filters, at least roughly; None where nobody knows without fetching them."""
        ...

    async def find(self, kind: str, filters: Sequence[FilterConstraint]) -> Sequence[Entity]:
        """Return the entities of a type that meet the filters; without filters, all of them."""
        ...

    async def follow(self, step: Step, sources: Sequence[str]) -> Sequence[tuple[str, Entity]]:
        """Return the edges that start at some entities.

        An edge to a date gives the interval of one day; one from an interval gives whatever has a date inside it.

        :param sources: identifiers, each once.
        :returns: pairs of a source's identifier and an entity at the other end.
        """
        ...
