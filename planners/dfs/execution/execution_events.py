"""What happens during an execution, as values that a journal and a page take live."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from planners.dfs.execution.execution import Call, Missing
from planners.dfs.resolver import Entity

__all__ = [
    "MOST_SHOWN",
    "BranchFailed",
    "Called",
    "Done",
    "EdgeTraversed",
    "Event",
    "Filtered",
    "Intersected",
    "Observe",
    "Pruned",
    "SetResolved",
    "VariableEntered",
]

MOST_SHOWN = 50
"""Entities of a candidate set that its event carries, those with the first ids, so that they can be looked at during the run."""


@dataclass(frozen=True, slots=True)
class VariableEntered:
    """The traversal reached a variable; twice where it comes back with candidates from the other side."""

    var: str
    kind: str


@dataclass(frozen=True, slots=True)
class SetResolved:
    """A variable has its first candidate set."""

    var: str
    size: int
    first: tuple[Entity, ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class EdgeTraversed:
    """An edge was followed from the candidates of one variable to another."""

    start: str
    edge: str
    end: str
    sources: int
    pairs: int


@dataclass(frozen=True, slots=True)
class Intersected:
    """The candidate set of a variable met another set."""

    var: str
    before: int
    other: int
    after: int
    first: tuple[Entity, ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Filtered:
    """Filters or an ordinal of a variable were applied to its candidates without a call."""

    var: str
    before: int
    after: int
    first: tuple[Entity, ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class BranchFailed:
    """A call failed and its branch ended."""

    missing: Missing


@dataclass(frozen=True, slots=True)
class Pruned:
    """The second pass: variable → size of what is part of a complete answer, and its first entities."""

    sizes: Mapping[str, int]
    first: Mapping[str, tuple[Entity, ...]] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Called:
    """The resolver answered, or failed."""

    call: Call


@dataclass(frozen=True, slots=True)
class Done:
    """The end: how many entities answer (None: nothing could be resolved), and the account."""

    count: int | None
    calls: int
    rows: int


Event: TypeAlias = (
    VariableEntered | SetResolved | EdgeTraversed | Intersected | Filtered | BranchFailed | Pruned | Called | Done
)
Observe: TypeAlias = Callable[[Event], None]
