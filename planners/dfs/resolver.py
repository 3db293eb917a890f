"""The seam between the executor and what it asks: entities by their fields, and the entities at the other end of an edge.

The executor knows no tools. :class:`Resolver` has one implementation over retrieved tools, and one over tables in memory, for tests;
:class:`MeteredResolver` stands before either with a memo, a bound on rows, and a log.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from ontology.errors import BudgetExceededError, EgotoolsError
from planners.query.query_graph import FilterConstraint, words_of

SELF = "self"
"""Identifier of the one entity of a type of kind ``self``."""
MOST_ROWS = 1_000_000
"""That a run fetches; no call is made after these."""

_Answer = TypeVar("_Answer")
_Kind: TypeAlias = Literal["count", "find", "follow"]
Observe: TypeAlias = Callable[[dict[str, Any]], object]
"""Gets each event of an execution as JSON values: ``event`` is its name."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity: a mail, a person, a purchase order.

    :param id: its identifier; of a date a half-open interval, ``2025-02-01/2025-03-01``, with ``..`` for an open end; of the user ``self``.
    :param fields: what is known of it, JSON values by name.
    """

    id: str
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Step:
    """An edge from the type where the traversal starts to the type that it finds; ``forward`` in the direction of the domain."""

    source: str
    edge: str
    target: str
    forward: bool

    def __str__(self) -> str:
        return f"{self.source} {'' if self.forward else '← '}{self.edge} {self.target}"


class Resolver(Protocol):
    """What the executor asks. Methods may be called concurrently; an ``EgotoolsError`` ends a branch, not the run."""

    async def count(self, kind: str, filters: Sequence[FilterConstraint]) -> int | None:
        """Return how many entities of a type meet the filters, at least roughly; None where nobody knows without fetching them."""
        ...

    async def find(self, kind: str, filters: Sequence[FilterConstraint]) -> Sequence[Entity]:
        """Return the entities of a type that meet the filters; without filters, all of them."""
        ...

    async def follow(self, step: Step, sources: Sequence[str]) -> Sequence[tuple[str, Entity]]:
        """Return the edges that start at some entities (identifiers, each once), as pairs of a source and an entity at the other end.

        An edge to a date gives the interval of one day; one from an interval gives whatever has a date inside it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One question to the resolver.

    :param what: ``Person.name = Jane Doe``, ``Email``, or a step: ``Email has_attachment File``, backward ``File ← has_attachment Email``.
    :param sources: number of entities that the step was followed from.
    :param rows: entities or pairs that came back; 0 for a count, which fetches none.
    :param error: why there was no answer; else empty.
    :param count: what a count says; None where nobody knows, and of other calls.
    """

    kind: _Kind
    what: str
    sources: int
    rows: int
    ms: float
    error: str = ""
    count: int | None = None


class MeteredResolver:
    """Asks a resolver nothing twice: a find of the same filters, a step from the same source; also not what failed.

    :ivar log: every call, in the order of their ends.
    """

    def __init__(self, resolver: Resolver, observe: Observe) -> None:
        self._resolver, self._observe = resolver, observe
        self._asked: defaultdict[object, asyncio.Lock] = defaultdict(asyncio.Lock)  # who comes second, waits
        self._found: dict[str, Sequence[Entity] | EgotoolsError] = {}
        self._followed: defaultdict[Step, dict[str, list[Entity] | EgotoolsError]] = defaultdict(dict)
        self.log: list[Call] = []
        self.rows = 0

    async def count(self, kind: str, filters: Sequence[FilterConstraint]) -> int | None:
        """Return the resolver's count; None where it has none or fails."""
        try:
            return await self._call("count", _what(kind, filters), 0, lambda: self._resolver.count(kind, filters))
        except EgotoolsError:
            return None

    async def find(self, kind: str, filters: Sequence[FilterConstraint]) -> Sequence[Entity]:
        """Return the entities; raise an EgotoolsError when the call fails."""
        what = _what(kind, sorted(filters, key=words_of))
        async with self._asked[what]:
            if what not in self._found:
                try:
                    ask = partial(self._resolver.find, kind, filters)
                    self._found[what] = await self._call("find", _what(kind, filters), 0, ask)
                except EgotoolsError as error:
                    self._found[what] = error
        return _or_raise(self._found[what])

    async def follow(self, step: Step, sources: Sequence[str]) -> dict[str, list[Entity]]:
        """Return the entities at the other end of a step, by source, for sources that have any; raise as :meth:`find` does."""
        known = self._followed[step]
        async with self._asked[step, *sources]:
            new = [source for source in sources if source not in known]
            if new:
                try:
                    pairs = await self._call("follow", str(step), len(new), lambda: self._resolver.follow(step, new))
                except EgotoolsError as error:
                    known.update(dict.fromkeys(new, error))
                else:
                    answered: dict[str, list[Entity]] = {source: [] for source in new}
                    for source, entity in pairs:
                        if source in answered:  # a tool may answer more than it was asked
                            answered[source].append(entity)
                    known.update(answered)
        return {source: found for source in sources if (found := _or_raise(known[source]))}

    async def _call(self, kind: _Kind, what: str, sources: int, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        rows, error, number = 0, "", None
        if self.rows >= MOST_ROWS:
            spent = f"the budget of {MOST_ROWS:,} rows is used up"
            raise BudgetExceededError(spent, subject=what, remedy="Ask for less")
        started = time.perf_counter()
        try:
            answer = await ask()
            rows = len(answer) if isinstance(answer, Sequence) else 0
            number = answer if isinstance(answer, int) else None
            return answer
        except BaseException as failure:
            error = str(failure) if isinstance(failure, EgotoolsError) else repr(failure)
            raise
        finally:
            ms = (time.perf_counter() - started) * 1000
            self.rows += rows
            self.log.append(Call(kind, what, sources, rows, ms, error, number))
            self._observe({"event": "Called", "call": asdict(self.log[-1])})


def _or_raise(known: _Answer | EgotoolsError) -> _Answer:
    if isinstance(known, EgotoolsError):
        raise known
    return known


async def together(jobs: Sequence[Coroutine[None, None, _Answer]]) -> list[_Answer]:
    """Return the results in their order; when one fails or the caller is cancelled, the others are cancelled and awaited first."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(job) for job in jobs]
    return [task.result() for task in tasks]


def _what(kind: str, filters: Sequence[FilterConstraint]) -> str:
    return " and ".join(words_of(each.model_copy(update={"var": kind})) for each in filters) or kind
