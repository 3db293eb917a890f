"""The resolver over retrieved tools: each edge and direction is a call of the tool that the service returns for it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from egotools import ClientError, Tool
from egotools.calling.invoker import ToolInvoker
from ontology.errors import BudgetExceededError, ToolCallError
from planners.calls.tool_finder import Finder
from planners.calls.typed_binding import Binding, Misfit, bind, bind_count
from planners.dfs.execution.day_intervals import day_of
from planners.dfs.resolver import Entity, Step
from planners.dfs.tool_calls import ToolCalls
from planners.dfs.tool_choice import Candidate, Choice, choose, lookup_of, wanted_by_step, wanted_by_type
from planners.query.domain import Domain, EntityType
from planners.query.query_graph import FilterConstraint

__all__ = ["ToolResolver"]

_SELF = "self"
_Answer = TypeVar("_Answer")
_Fits: TypeAlias = Callable[[Tool], Binding | Misfit]


class ToolResolver:
    """Implements :class:`planners.dfs.resolver.Resolver`. A tool that fails, or answers another shape, gives way to the next one.

    :param finder: asked once for each edge and direction, and for each type.
    :param chunk: identifiers of one call of a tool that takes a list.
    :param concurrency: calls at once of a tool that takes one identifier.
    :param said: called with a sentence when a tool was chosen, and when another takes its place.
    """

    def __init__(
        self,
        domain: Domain,
        finder: Finder,
        invoker: ToolInvoker,
        *,
        chunk: int = 500,
        concurrency: int = 8,
        said: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._domain = domain
        self._finder = finder
        self._said = said
        self._calls = ToolCalls(invoker, chunk=chunk, concurrency=concurrency)
        self._choices: dict[str, Choice] = {}
        self._own: Entity | None = None
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._own_lock = asyncio.Lock()

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The choices so far, in the order of their making."""
        return tuple(self._choices.values())

    def is_looked_up(self, kind: str) -> bool:
        """Whether the domain names a lookup for the entities of a type."""
        return self._domain.types[kind].lookup is not None

    async def choice(self, step: Step | str) -> Choice:
        """Return the tools for a step, or for the lookup of a type.

        :raises ToolCallError: when the domain does not say how it is resolved.
        :raises EgotoolsError: when the service does not answer.
        """
        if isinstance(step, str):
            kind, purpose = self._domain.types[step], step
            lookup = kind.lookup
            wanted = wanted_by_type(step, kind, lookup) if lookup else None
        else:
            purpose = _purpose(step)
            lookup = lookup_of(self._domain, step)
            wanted = wanted_by_step(self._domain, step, lookup) if lookup else None
        if lookup is None or wanted is None:
            raise ToolCallError(f"the domain {self._domain.name} names no tool for it", subject=purpose)
        return await self._chosen(purpose, lookup.request, partial(bind, wanted=wanted))

    async def follow(self, step: Step, sources: Sequence[str]) -> Sequence[tuple[str, Entity]]:
        """See :class:`planners.dfs.resolver.Resolver`."""
        if not sources:
            return []
        source, target = self._domain.types[step.source], self._domain.types[step.target]
        own = await self._own_id() if _SELF in (source.kind, target.kind) else _SELF
        asked = {own if each == _SELF and source.kind == "self" else each: each for each in sources}
        pairs = await self._first(
            await self.choice(step),
            lambda candidate: self._calls.follow(candidate, list(asked), source, self._dated(step, source)),
            partial(self._tools_of_other_edges, step),
        )
        if target.kind == "self":
            pairs = [(origin, Entity(_SELF, found.fields)) for origin, found in pairs if found.id in (own, _SELF)]
        elif target.kind == "date":
            pairs = [(origin, Entity(day_of(found.id), found.fields)) for origin, found in pairs]
        return [(asked[origin], found) for origin, found in pairs]

    async def find(self, kind: str, filters: Sequence[FilterConstraint]) -> Sequence[Entity]:
        """See :class:`planners.dfs.resolver.Resolver`."""
        if self._domain.types[kind].kind == "self":
            return [await self._self()]
        return await self._first(
            await self.choice(kind), lambda candidate: self._calls.find(candidate, self._domain.types[kind], filters)
        )

    async def count(self, kind: str, filters: Sequence[FilterConstraint]) -> int | None:
        """See :class:`planners.dfs.resolver.Resolver`. A tool that counts is asked, else one whose answer says how many there are."""
        declared = self._domain.types[kind]
        if declared.kind != "entity" or declared.lookup is None:
            return None
        wanted = wanted_by_type(kind, declared, declared.lookup)
        counting = await self._chosen(
            f"number of {kind}",
            f"count how many {declared.several(kind)} there are",
            lambda tool: bind_count(tool, wanted),
        )
        for candidate in (*counting.candidates, *(await self.choice(kind)).candidates):
            number = None
            try:
                number = await self._calls.count(candidate, filters)
            except ClientError as error:
                _raise_run_limit(error)
            except ToolCallError:
                pass  # another one may know it
            if number is not None:
                return number
        return None

    async def _chosen(self, purpose: str, request: str, fits: _Fits) -> Choice:
        async with self._locks[
            purpose
        ]:  # whoever comes first asks; when that one is cancelled, the next one asks itself
            if purpose not in self._choices:
                try:
                    self._choices[purpose] = await self._choose(purpose, request, fits)
                except ClientError as error:
                    raise ToolCallError(f"the tool service did not answer: {error.message}", subject=purpose) from error
            return self._choices[purpose]

    async def _choose(self, purpose: str, request: str, fits: _Fits) -> Choice:
        choice = await choose(self._finder, purpose, request, fits)
        self._said(f"{purpose}: {choice.reason}")
        return choice

    async def _tools_of_other_edges(self, step: Step) -> frozenset[str]:
        """Ids of the tools that resolve other edges between the same types, this one the other way among them."""
        found: set[str] = set()
        for other in _between(self._domain, step.source, step.target):
            lookup = lookup_of(self._domain, other)
            if other == step or lookup is None:
                continue
            fits = partial(bind, wanted=wanted_by_step(self._domain, other, lookup))
            choice = await choose(self._finder, _purpose(other), lookup.request, fits)
            found.update(candidate.tool.id for candidate in choice.candidates[:1])
        return frozenset(found)

    async def _first(
        self,
        choice: Choice,
        call: Callable[[Candidate], Awaitable[_Answer]],
        other_meaning: Callable[[], Awaitable[frozenset[str]]] | None = None,
    ) -> _Answer:
        """Return the answer of the first candidate that gives one.

        :param other_meaning: returns the ids of tools that must not take the place of the first: their types fit, but they answer
            another question ("received by" for "sent by").
        :raises ToolCallError: when none does, with the reason of each.
        """
        failures = []
        refused: frozenset[str] = frozenset()
        for place, candidate in enumerate(choice.candidates):
            if place == 1 and other_meaning is not None:
                refused = await other_meaning()
            if candidate.tool.id in refused:
                failures.append(f"{candidate.tool.id} is the tool of another edge between these types")
                continue
            try:
                answer = await call(candidate)
            except ClientError as error:
                _raise_run_limit(error)
                where = f"{error.subject}: " if error.subject not in ("", candidate.tool.id) else ""
                failures.append(f"{candidate.tool.id}: {where}{error.message}")
            except ToolCallError as error:
                failures.append(f"{candidate.tool.id}: {error.problem}")
            else:
                if failures:
                    self._said(f"{choice.purpose}: {candidate.tool.id} instead, because {'; '.join(failures)}")
                return answer
        raise ToolCallError("; ".join(failures) or choice.reason, subject=choice.purpose)

    async def _own_id(self) -> str:
        return (await self._self()).fields.get("own_id", _SELF)  # type: ignore[no-any-return]

    async def _self(self) -> Entity:
        """Return the user; ``own_id`` is the identifier by which tools know them."""
        async with self._own_lock:
            if self._own is None:
                self._own = await self._ask_own()
            return self._own

    async def _ask_own(self) -> Entity:
        name = next((name for name, kind in self._domain.types.items() if kind.kind == "self"), "")
        kind = self._domain.types.get(name)
        if kind is None or kind.lookup is None:
            return Entity(_SELF)
        found = await self._first(await self.choice(name), lambda candidate: self._calls.find(candidate, kind, ()))
        if len(found) != 1:
            raise ToolCallError(f"the tool gives {len(found)} records of the user instead of one", subject=name)
        return Entity(_SELF, {**found[0].fields, "own_id": found[0].id})

    def _dated(self, step: Step, source: EntityType) -> str:
        """Where an entity found by a range of days has its own day: what the edge gives in the other direction."""
        if source.kind != "date":
            return ""
        other = lookup_of(self._domain, Step(step.target, step.edge, step.source, not step.forward))
        return other.gives if other else ""


def _raise_run_limit(error: ClientError) -> None:
    """Raise for a limit of the run, which no other tool helps against.

    :raises BudgetExceededError: when the error is of such a limit.
    """
    if error.reason == "RUN_LIMIT":
        raise BudgetExceededError(error.message, subject=error.subject, remedy="Raise the limit") from error


def _between(domain: Domain, source: str, target: str) -> Iterator[Step]:
    """Every edge of a domain that leads from one type to another, in either direction."""
    for start, edge, end in domain.signatures():
        if (start, end) == (source, target):
            yield Step(start, edge, end, True)
        if (end, start) == (source, target):
            yield Step(end, edge, start, False)


def _purpose(step: Step) -> str:
    ends = (step.source, step.target) if step.forward else (step.target, step.source)
    return f"{ends[0]} {step.edge} {ends[1]}{'' if step.forward else ' (backward)'}"
