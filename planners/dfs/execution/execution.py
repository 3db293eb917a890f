"""What an execution of a query graph comes to: the answer, the candidates of each variable, what is missing, and every call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from planners.dfs.resolver import Entity
from planners.query.query_graph import Constraint, EdgeConstraint

__all__ = ["Call", "Execution", "Missing", "Totals", "words_of"]


def words_of(constraint: Constraint) -> str:
    """Return a constraint as a person writes it: ``e from p``, ``p.name = Jane Doe``."""
    if isinstance(constraint, EdgeConstraint):
        return f"{constraint.source} {constraint.edge} {constraint.target}"
    return f"{constraint.var}.{constraint.field} {constraint.op} {constraint.value}"


@dataclass(frozen=True, slots=True)
class Call:
    """One question to the resolver.

    :param what: ``Person.name = Jane Doe``, ``Email``, or a step: ``Email has_attachment File``, backward ``File ← has_attachment Email``.
    :param sources: number of entities that the step was followed from.
    :param rows: entities or pairs that came back; 0 for a count, which fetches none.
    :param ms: milliseconds until the answer.
    :param error: why there was none; else empty.
    :param count: what a count says; None where nobody knows, and of other calls.
    """

    kind: Literal["count", "find", "follow"]
    what: str
    sources: int
    rows: int
    ms: float
    error: str = ""
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """Constraints that the answer lacks.

    :param var: the variable where their branch ended.
    :param constraints: none where only the listing of a whole type failed, from which all would have started.
    """

    var: str
    constraints: tuple[Constraint, ...]
    reason: str

    def __str__(self) -> str:
        return f"{', '.join(map(words_of, self.constraints)) or self.var}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Totals:
    """The account of an execution.

    :param rows: rows fetched, of all calls.
    :param wall_ms: from start to end.
    :param own_ms: the part of it in which no call was under way: the executor's own time.
    """

    calls: int
    rows: int
    wall_ms: float
    own_ms: float


@dataclass(frozen=True, slots=True)
class Execution:
    """The outcome.

    :param answer: the entities found, in order; at most one in mode ``one``; none of a count.
    :param count: how many entities answer, in either action and mode; None where failures left nothing to count.
    :param candidates: variable → its entities that are part of at least one complete answer, in order; a variable is absent where its
        branch ended.
    :param exact: False where the search for such entities met its bound, so that candidates may hold some that are not.
    """

    answer: tuple[Entity, ...] = field(repr=False)  # asyncio writes the result of a task in words as it ends
    count: int | None
    candidates: Mapping[str, tuple[Entity, ...]] = field(repr=False)
    missing: tuple[Missing, ...]
    calls: tuple[Call, ...] = field(repr=False)
    totals: Totals
    exact: bool = True
