"""The seam between the executor and what it asks: entities by their fields, and the entities at the other end of an edge.

The executor knows no tools. :class:`Resolver` has one implementation over retrieved tools, and one over tables in memory, for tests;
:class:`MeteredResolver` stands before either with a bound on rows, and a log.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from ontology.errors import BudgetExceededError, EgotoolsError
from planners.query.dates import DateRange
from planners.query.query_graph import FilterConstraint, words_of

SELF = "self"  # identifier of the one entity of a type of kind ``self``
MOST_ROWS = 1_000_000  # that a run fetches; no call is made after these

_Rows = TypeVar("_Rows", bound=Sequence[Any])
_Kind: TypeAlias = Literal["find", "follow"]
# Gets each event of an execution as JSON values: ``event`` is its name
Observe: TypeAlias = Callable[[dict[str, Any]], object]


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity: a mail, a person, a purchase order."""

    # its identifier; of a date a half-open interval, ``2025-02-01/2025-03-01``, with ``..`` for an open end; of the
    # user ``self``
    id: str
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False)  # what is known of it, JSON values by name


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

    async def find(
        self, kind: str, filters: Sequence[FilterConstraint], *, most: int | None = None
    ) -> Sequence[Entity]:
        """Return the entities of a type that meet the filters; without filters, all of them. Whoever has ``most`` asks for no further ones."""
        ...

    async def follow(self, step: Step, sources: Sequence[str]) -> Sequence[tuple[str, Entity]]:
        """Return the edges that start at some entities (identifiers, each once), as pairs of a source and an entity at the other end.

        An edge to a date gives the interval of one day; one from an interval gives whatever has a date inside it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One question to the resolver."""

    kind: _Kind
    # ``Person.name = Jane Doe``, ``Email``, or a step: ``Email has_attachment File``, ``File ← has_attachment Email``
    what: str
    sources: int  # number of entities that the step was followed from
    rows: int  # entities or pairs that came back
    ms: float
    error: str = ""  # why there was no answer; else empty


class MeteredResolver:
    """Asks a resolver within a number of rows. ``log`` has every call, in the order of their ends."""

    def __init__(self, resolver: Resolver, observe: Observe) -> None:
        self._resolver, self._observe = resolver, observe
        self.log: list[Call] = []
        self.rows = 0

    async def find(self, kind: str, filters: Sequence[FilterConstraint]) -> Sequence[Entity]:
        """Return the entities; raise an EgotoolsError when the call fails."""
        return await self._call("find", _what(kind, filters), 0, lambda: self._resolver.find(kind, filters))

    async def follow(self, step: Step, sources: Sequence[str]) -> dict[str, list[Entity]]:
        """Return the entities at the other end of a step, by source, for sources that have any; raise as :meth:`find` does."""
        if not sources:
            return {}
        pairs = await self._call("follow", str(step), len(sources), lambda: self._resolver.follow(step, sources))
        found: dict[str, list[Entity]] = {source: [] for source in sources}
        for source, entity in pairs:
            if source in found:  # a tool may answer more than it was asked
                found[source].append(entity)
        return {source: entities for source, entities in found.items() if entities}

    async def _call(self, kind: _Kind, what: str, sources: int, ask: Callable[[], Awaitable[_Rows]]) -> _Rows:
        rows, error = 0, ""
        if self.rows >= MOST_ROWS:
            spent = f"the budget of {MOST_ROWS:,} rows is used up"
            raise BudgetExceededError(spent, subject=what, remedy="Ask for less")
        started = time.perf_counter()
        try:
            answer = await ask()
            rows = len(answer)
            return answer
        except BaseException as failure:
            error = str(failure) if isinstance(failure, EgotoolsError) else repr(failure)
            raise
        finally:
            ms = (time.perf_counter() - started) * 1000
            self.rows += rows
            self.log.append(Call(kind, what, sources, rows, ms, error))
            self._observe({"event": "Called", "call": asdict(self.log[-1])})


def _what(kind: str, filters: Sequence[FilterConstraint]) -> str:
    return " and ".join(words_of(each.model_copy(update={"var": kind})) for each in filters) or kind


# Half-open intervals of time as identifiers of date entities: ``2025-02-01/2025-03-01``; an open end is ``..`` (ISO 8601-2).

_OPEN = ".."
_DAY = timedelta(days=1)


class Interval(NamedTuple):
    """A half-open interval in wall-clock time; None is an open end."""

    start: datetime | None
    end: datetime | None

    def holds(self, inner: Interval) -> bool:
        """Whether another interval lies inside this one."""
        begins = self.start is None or (inner.start is not None and self.start <= inner.start)
        return begins and (self.end is None or (inner.end is not None and inner.end <= self.end))

    def days(self) -> float | None:
        """Its length in days; None where an end is open."""
        return None if self.start is None or self.end is None else (self.end - self.start) / _DAY


def interval_id(ranges: Sequence[DateRange]) -> str | None:
    """Return the identifier of what is common to some ranges, or None where nothing is."""
    start = max((each.start for each in ranges if each.start is not None), default=None)
    end = min((each.end for each in ranges if each.end is not None), default=None)
    return None if start and end and start >= end else DateRange(start, end).iso()


@lru_cache(maxsize=65_536)
def read_interval(text: str) -> Interval | None:
    """Read the identifier of a date entity, a day (``2025-02-03``) or a moment; None where it is none of them. The last
    day that can be written, for ever in some systems, has an open end."""
    first, slash, second = text.partition("/")
    try:
        if slash:
            ends = (None if each == _OPEN else _wall_clock(each) for each in (first, second))
            return Interval(*ends)
        start = _wall_clock(first)
    except ValueError:
        return None
    length = _DAY if len(first) == len("2025-02-03") else timedelta.resolution
    return Interval(start, start + length if datetime.max - start >= length else None)


def in_interval(value: object, interval: str) -> bool:
    """Whether a day or moment lies in a half-open interval, by the clock of where it was written; what is no date does."""
    inner, outer = read_interval(value) if isinstance(value, str) else None, read_interval(interval)
    return inner is None or outer is None or outer.holds(inner)


def day_of(text: str) -> str:
    """Return the interval of the day of a moment, by the clock of where it was written; another text as it is."""
    moment = read_interval(text) if "/" not in text else None
    day = moment and moment.start and read_interval(str(moment.start.date()))
    if not day or day.start is None:
        return text
    return f"{day.start.date()}/{_OPEN if day.end is None else day.end.date()}"


def window_arguments(interval: str, takes: str) -> dict[str, str]:
    """Return the arguments of a tool for an interval; ``takes`` are its inputs of beginning and end, ``from,to``; one
    may be empty. An open end is left out. Tools differ in whether their last day counts: :func:`in_interval` drops what
    is too late."""
    ends = zip(takes.split(","), interval.split("/"), strict=False)
    return {name: end for name, end in ends if name and end != _OPEN}


def _wall_clock(text: str) -> datetime:
    """The time where it was written."""
    return datetime.fromisoformat(text).replace(tzinfo=None)
