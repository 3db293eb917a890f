"""The executor of query graphs: Algorithm 1 of the paper QueryWeaver (arXiv 2606.08300, appendix A3) with its future work.

What a graph means stands in docs/planner.md. The variable of a type of kind ``self`` is the one entity ``self``. Several ordinals apply
after all else, the one farthest from the return variable first, those at one distance in the order of the variables, and each sees what
the one before it left. A filter that no lookup of its type takes, and numbers, booleans and dates, are checked on the field that the
candidates carry, which needs no call.

Candidates are known without a call (the user, an interval), found by filters, or reached along an edge from other candidates. What is
likely to fetch the fewest rows is done next, and with it whatever would not fetch fewer rows from its result. A failed call does not end
the run. What could not be applied is in ``missing``; the answer is exact for the graph without it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from difflib import get_close_matches
from heapq import nsmallest
from itertools import chain, combinations, product
from operator import attrgetter
from typing import Any, NamedTuple

from ontology.errors import EgotoolsError, InvalidArgumentError
from planners.dfs.resolver import (
    SELF,
    Call,
    Entity,
    MeteredResolver,
    Observe,
    Resolver,
    Step,
    interval_id,
    read_interval,
)
from planners.dfs.witnesses import Pairs, Witnesses, Work
from planners.query.dates import read_range
from planners.query.domain import Domain, EntityType
from planners.query.graph_faults import folded, graph_faults, holds, listed, read_ordinal
from planners.query.query_graph import Constraint, EdgeConstraint, FilterConstraint, QueryGraph, words_of

_MOST_STEPS = 5_000_000  # of the search for complete answers: candidates looked at, about 1,000,000 a second
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_SHOWN, _MOST_CHARS = 50, 500  # entities of a candidate set that its event carries, and characters of a field
# Rows that a lookup by filters, and an edge from the user, are taken to give
_FILTERED, _OF_USER = 100.0, 1_000.0
_OPEN_DAYS = 500.0  # of an interval with an open end
_MOST_LISTED = 5_000  # entities of a type, among which names like one that nobody has are looked for


@dataclass(frozen=True, slots=True)
class Totals:
    """Calls, rows fetched, and milliseconds from start to end."""

    calls: int
    rows: int
    wall_ms: float


class Missing(NamedTuple):
    """Constraints that the answer lacks, a variable of them, and why; none where only the listing of a type failed."""

    var: str
    constraints: tuple[Constraint, ...]
    reason: str

    def to_json(self) -> dict[str, Any]:
        """JSON values; constraints are written as a person writes them."""
        return {"var": self.var, "constraints": [*map(words_of, self.constraints)], "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Execution:
    """The outcome. Its ``repr`` has no entities: asyncio writes the result of a task in words as it ends."""

    # the entities found, in order; at most one in mode ``one``; none of a count
    answer: tuple[Entity, ...] = field(repr=False)
    count: int | None  # how many entities answer, in either action and mode; None where failures left nothing to count
    # variable → its entities that are part of at least one complete answer, in order; a variable is absent where its
    # part of the graph was lost
    candidates: Mapping[str, tuple[Entity, ...]] = field(repr=False)
    missing: tuple[Missing, ...]
    calls: tuple[Call, ...] = field(repr=False)
    totals: Totals
    # False where the search for such entities met its bound, so that candidates may hold some that are not
    exact: bool = True

    def to_json(self) -> dict[str, Any]:
        """JSON values by the names of the fields; constraints are written as a person writes them."""

        def written(entities: Iterable[Entity]) -> list[dict[str, Any]]:
            return [{"id": each.id, "fields": dict(each.fields)} for each in entities]

        return {
            "answer": written(self.answer),
            "count": self.count,
            "candidates": {var: written(found) for var, found in self.candidates.items()},
            "missing": [each.to_json() for each in self.missing],
            "calls": [asdict(each) for each in self.calls],
            "totals": asdict(self.totals),
            "exact": self.exact,
        }


async def answer_graph(
    graph: QueryGraph, domain: Domain, resolver: Resolver, *, today: date, observe: Observe = lambda event: None
) -> dict[str, Any]:
    """Execute a graph, its dates read against a day, and return the execution as JSON values.

    Of a graph that excludes something each part is executed; the answer, the count, calls and totals are of all together.

    Where nothing is found for a name, ``near`` has up to three that are like it.

    :raises InvalidArgumentError: as of :func:`execute`.
    """

    async def answered(plain: QueryGraph) -> dict[str, Any]:
        return (await execute(plain, domain, resolver, today=today, observe=observe)).to_json()

    negated = [each for each in graph.edges if each.negated]
    if not negated:
        found = await answered(graph)
        near = await _near_names(graph, domain, resolver, found["calls"]) if found["count"] == 0 else []
        return {**found, "near": near} if near else found
    base = await answered(_with_only(graph, negated, None))
    excluded = [await answered(_with_only(graph, negated, each)) for each in negated]
    out = {each["id"] for one in excluded for each in one["answer"]}
    answer = [each for each in base["answer"] if each["id"] not in out]
    every = [base, *excluded]
    shown = answer if graph.action == "find" else []
    return {
        **base,
        "answer": shown[:1] if graph.return_mode == "one" else shown,
        "count": len(answer) if all(each["count"] is not None for each in every) else None,
        "missing": [missing for each in every for missing in each["missing"]],
        "calls": [call for each in every for call in each["calls"]],
        "totals": {key: sum(each["totals"][key] for each in every) for key in base["totals"]},
        "exact": all(each["exact"] for each in every),
    }


async def _near_names(
    graph: QueryGraph, domain: Domain, resolver: Resolver, calls: Sequence[Mapping[str, Any]]
) -> list[str]:
    """The names that are like one that found nothing, among the first entities of its type."""
    silent = {call["what"] for call in calls if call["kind"] == "find" and not call["rows"] and not call["error"]}
    for each in graph.filters:
        kind = graph.vars[each.var]
        named = each.op == "=" and domain.types[kind].fields[each.field].kind == "text"
        if named and words_of(each.model_copy(update={"var": kind})) in silent:
            try:
                entities = await resolver.find(kind, (), most=_MOST_LISTED)
            except EgotoolsError:
                continue
            names = {folded(str(one)): str(one) for entity in entities if (one := entity.fields.get(each.field))}
            return [names[near] for near in get_close_matches(folded(str(each.value)), names)]
    return []


async def execute(
    graph: QueryGraph, domain: Domain, resolver: Resolver, *, today: date, observe: Observe = lambda event: None
) -> Execution:
    """Execute a query graph, its dates read against a day. A cancelled execution leaves no task behind.

    :param observe: is called with each event, in the event loop.
    :raises InvalidArgumentError: when the graph has a fault under the domain, or has nothing to start from; before any call.
    """
    started = time.perf_counter()
    walk = _checked(graph, domain, today)
    calls = MeteredResolver(resolver, observe)
    await walk.run(calls, observe)
    events: list[dict[str, Any]] = []
    work = Work(_MOST_STEPS)
    try:  # other work of the event loop goes on beside it
        candidates = await asyncio.to_thread(_second_pass, walk, work, events.append)
    finally:
        exact = not work.stopped
        work.stopped = True  # a thread cannot be cancelled
    for event in events:
        observe(event)
    found = candidates.get(graph.return_var)
    answer = found or () if graph.action == "find" else ()
    totals = Totals(len(calls.log), calls.rows, (time.perf_counter() - started) * 1000)
    count = None if found is None else len(found)
    observe({"event": "Done", "count": count, "calls": totals.calls, "rows": totals.rows})
    return Execution(
        answer=answer[:1] if graph.return_mode == "one" else answer,
        count=count,
        candidates=candidates,
        missing=tuple(walk.missing),
        calls=tuple(calls.log),
        totals=totals,
        exact=exact,
    )


def _checked(graph: QueryGraph, domain: Domain, today: date) -> _Walk:
    """Refuse what cannot be executed."""
    if faults := graph_faults(graph, domain):
        raise InvalidArgumentError(" ".join(faults).rstrip("."), subject="graph", remedy="Correct the graph")
    if any(each.negated for each in graph.edges):
        raise InvalidArgumentError("one execution excludes nothing", subject="graph", remedy="Use answer_graph")
    walk = _Walk(graph, domain, today)
    bound = [var for var in graph.vars if walk.type_of(var).kind != "date" or walk.filters(var)]
    if not bound:
        problem = "dates without filters are all it has, and nobody can list these"
        raise InvalidArgumentError(problem, subject="graph", remedy="Add a constraint")
    for var in graph.vars:
        if walk.type_of(var).kind == "self" and walk.filters(var):
            problem = "the user is one entity and takes no filter"
            raise InvalidArgumentError(problem, subject=var, remedy="Use another type, or leave it out")
        for each in walk.filters(var, ordinal=True):
            read_ordinal(each.value)
    return walk


def _second_pass(walk: _Walk, work: Work, observe: Observe) -> Mapping[str, tuple[Entity, ...]]:
    """Leave in each set what is part of a complete answer, ordinals applied; return variable → candidates in order."""
    sets, kinds = walk.sets, walk.graph.vars

    def in_order(var: str) -> list[Entity]:
        return _in_order(walk.entities(var), walk.type_of(var).order)

    if not all(sets.values()):
        sets.update({var: set() for var in kinds if var not in walk.lost})
        observe({"event": "Pruned", "sizes": dict.fromkeys(sorted(sets), 0), "first": {}})
    elif sets:
        entities = [var for var in sorted(sets) if walk.type_of(var).kind == "entity"]
        different = [(one, two) for one, two in combinations(entities, 2) if kinds[one] == kinds[two]]
        witnesses = Witnesses(walk.pairs, different, work)
        witnesses.prune(sets)
        far, places = walk.distances(), list(kinds)
        for var in sorted(sets, key=lambda var: (-far[var], places.index(var))):
            for each in walk.filters(var, ordinal=True):
                before = in_order(var)
                kept = before[read_ordinal(each.value)]
                sets[var] = {entity.id for entity in kept}
                sizes = {"var": var, "before": len(before), "after": len(kept)}
                observe({"event": "Filtered", **sizes, "first": _shown(kept)})
                witnesses.prune(sets)
        first = {var: walk.first(var) for var in sorted(sets)}
        observe({"event": "Pruned", "sizes": {var: len(sets[var]) for var in first}, "first": first})
    return {var: tuple(in_order(var)) for var in kinds if var in sets}


class _Task(NamedTuple):
    """To find the entities of a variable (no edge), or to follow an edge from the candidates of one."""

    edge: EdgeConstraint | None
    start: str
    end: str


class _Walk:
    """One walk over a graph.

    :ivar fixed: variable → its candidates that are known without a call.
    :ivar unread: date variable → why its filters could not be read.
    :ivar sets: variable → identifiers; a variable is absent as long as nothing restricts it.
    :ivar pairs: edge → the variable from which it was followed, and its pairs from there, complete for the candidates of that variable.
    :ivar lost: variables that are no longer part of the graph.
    """

    def __init__(self, graph: QueryGraph, domain: Domain, today: date) -> None:
        self.graph, self._domain, self._today = graph, domain, today
        self.fixed: dict[str, frozenset[str]] = {}
        self.unread: dict[str, EgotoolsError] = {}
        for var in graph.vars:
            kind, filters = self.type_of(var).kind, self.filters(var)
            if kind == "self":
                self.fixed[var] = frozenset({SELF})
            elif kind == "date" and filters:
                try:
                    interval = self._interval(filters)
                    self.fixed[var] = frozenset({interval} if interval else ())
                except EgotoolsError as error:
                    self.unread[var] = error
        self.sets: dict[str, set[str]] = {}
        self.pairs: dict[EdgeConstraint, tuple[str, Pairs]] = {}
        self.missing: list[Missing] = []
        self.lost: set[str] = set()
        self._edges = list(dict.fromkeys(graph.edges))
        self._filtered = [var for var in self._entities_vars() if self.filters(var)]
        self._failed: dict[_Task, EgotoolsError] = {}
        self._known: dict[str, dict[str, Entity]] = {}
        self._listed: list[str] = []

    def type_of(self, var: str) -> EntityType:
        """The type of a variable, as the domain describes it."""
        return self._domain.types[self.graph.vars[var]]

    def filters(self, var: str, *, ordinal: bool = False) -> tuple[FilterConstraint, ...]:
        """The filters of a variable that are ordinals, or those that are none."""
        fields = self.type_of(var).fields
        return tuple(each for each in self.graph.filters_of(var) if (fields[each.field].kind == "ordinal") == ordinal)

    def entities(self, var: str, ids: Collection[str] | None = None) -> list[Entity]:
        """What is known of the candidates of a variable, or of some of its entities."""
        known = self._known.get(self.graph.vars[var], {})
        return [known.get(each) or Entity(each) for each in (self.sets[var] if ids is None else ids)]

    def first(self, var: str) -> list[dict[str, Any]]:
        """The candidates of a variable that its events show."""
        return _shown(self.entities(var, nsmallest(_MOST_SHOWN, self.sets[var])))

    def distances(self) -> dict[str, int]:
        """How many edges each variable is away from the return variable, by the shortest way."""
        found, wave = {self.graph.return_var: 0}, [self.graph.return_var]
        while wave:
            near = [end for var in wave for edge in self.graph.edges_of(var) for end in (edge.source, edge.target)]
            wave = [var for var in dict.fromkeys(near) if var not in found]
            found.update(dict.fromkeys(wave, max(found.values()) + 1))
        return found

    def _entities_vars(self) -> list[str]:
        """The variables that stand for entities, the return variable first."""
        variables = sorted(self.graph.vars, key=lambda var: var != self.graph.return_var)
        return [var for var in variables if self.type_of(var).kind == "entity"]

    async def run(self, calls: MeteredResolver, observe: Observe) -> None:
        """Apply what can be applied, until a set is empty; then account for the rest."""
        self._calls, self._observe = calls, observe
        for var, error in self.unread.items():
            self._lose(var, {var}, self._touching({var}), [error])
        if self.graph.return_var in self.lost:
            self._account()
            return
        for var, ids in self.fixed.items():
            self._observe({"event": "VariableEntered", "var": var, "kind": self.graph.vars[var]})
            self._narrow(var, ids)
        while all(self.sets.values()):
            for var in [each for each in self._filtered if each in self.sets]:
                self._check(var)
            chosen = self._chosen() if all(self.sets.values()) else []
            if not chosen:
                break
            entered = dict.fromkeys(task.end for task in chosen if task.end not in self.sets)
            for var in entered:
                self._observe({"event": "VariableEntered", "var": var, "kind": self.graph.vars[var]})
            async with asyncio.TaskGroup() as group:
                for task in chosen:
                    group.create_task(self._take(task))
        if all(self.sets.values()):
            self._give_up()

    # What to do next.

    def _chosen(self) -> list[_Task]:
        """The task that fetches the fewest rows, with those that would not fetch fewer from its result."""
        ways = [
            _Task(edge, *ends)
            for edge in self._edges
            for ends in ((edge.source, edge.target), (edge.target, edge.source))
            if ends[0] in self.sets
        ]
        finds = [_Task(None, var, var) for var in self._filtered]
        tasks = [task for task in [*finds, *ways] if task not in self._failed]
        if not tasks:
            return self._listing()
        tasks.sort(key=self._rows)
        best, *others = tasks
        chosen = {best.edge or best: best}
        for task in others:
            if task.edge is None:  # a lookup is made where nobody else can apply its filters
                at_once = not self._may_check(task.end)
            else:
                at_once = self._rows(task) <= self._rows(best) * (1 if task.end == best.end else 2)
                at_once = at_once and task.start != best.end and task.edge not in chosen
            if at_once:
                chosen[task.edge or task] = task
        return list(chosen.values())

    def _listing(self) -> list[_Task]:
        """Where nothing is bound, a type is listed; where nothing led to the return variable, its type."""
        kinds = [var for var in self._entities_vars() if var not in self.lost]
        var = self.graph.return_var if self.sets or self._listed else next(iter(kinds), "")
        if var not in kinds or var in self.sets or var in self._listed:
            return []
        self._listed.append(var)
        return [_Task(None, var, var)]

    def _rows(self, task: _Task) -> float:
        """The rows that a task is likely to fetch: of an edge one for each source, for each day of an interval."""
        if task.edge is None:
            return _FILTERED
        kind = self.type_of(task.start).kind
        if kind == "date" and task.start in self.fixed:
            intervals = map(read_interval, self.fixed[task.start])
            return sum((each and each.days()) or _OPEN_DAYS for each in intervals)
        return _OF_USER if kind == "self" else float(len(self.sets[task.start]))

    # Doing it.

    async def _take(self, task: _Task) -> None:
        try:
            if task.edge is None:
                kind, filters = self.graph.vars[task.end], self.filters(task.end)
                found = [await self._calls.find(kind, each) for each in _alternatives(filters)]
                ids: Collection[str] = self._learn(task.end, chain.from_iterable(found))
            else:
                ids = await self._follow(task.edge, task.start, task.end)
        except EgotoolsError as error:
            self._failed[task] = error
            return
        if task.edge is not None:
            self._edges.remove(task.edge)
        elif task.end in self._filtered:
            self._filtered.remove(task.end)
        self._narrow(task.end, ids)

    async def _follow(self, edge: EdgeConstraint, start: str, end: str) -> Collection[str]:
        """Follow an edge, keep its pairs and the sources that have any, and return what it leads to."""
        forward = start == edge.source
        sources = sorted(self.sets[start])
        step = Step(self.graph.vars[start], edge.edge, self.graph.vars[end], forward)
        there = self._ends(end, await self._calls.follow(step, sources))
        self.pairs[edge] = (start, there)
        sizes = {"sources": len(sources), "pairs": sum(map(len, there.values()))}
        self._observe({"event": "EdgeTraversed", "start": start, "edge": edge.edge, "end": end, **sizes})
        self.sets[start] &= there.keys()
        return set().union(*there.values())

    def _ends(self, var: str, found: Mapping[str, list[Entity]]) -> dict[str, set[str]]:
        """Source → the candidates that entities at the end of an edge stand for: of a date, the interval that a day lies in."""
        fixed = self.fixed.get(var)
        if fixed is None:
            self._learn(var, chain.from_iterable(found.values()))
            return {source: {each.id for each in entities} for source, entities in found.items()}
        if self.type_of(var).kind == "self":
            return {source: {SELF} for source in found}
        outer = {each: interval for each in fixed if (interval := read_interval(each))}
        days = {source: [read_interval(each.id) for each in entities] for source, entities in found.items()}
        within = {
            source: {each for each, interval in outer.items() if any(day and interval.holds(day) for day in inner)}
            for source, inner in days.items()
        }
        return {source: ids for source, ids in within.items() if ids}

    def _learn(self, var: str, entities: Iterable[Entity]) -> set[str]:
        """Keep entities, their fields joined with what was known of them, and return their identifiers."""
        known = self._known.setdefault(self.graph.vars[var], {})
        found = set()
        for entity in entities:
            found.add(entity.id)
            before = known.setdefault(entity.id, entity)
            if before is not entity and not entity.fields.keys() <= before.fields.keys():
                known[entity.id] = Entity(entity.id, {**entity.fields, **before.fields})
        return found

    def _narrow(self, var: str, ids: Collection[str]) -> None:
        """Make identifiers the candidates of a variable, or leave only these in its set."""
        before = self.sets.get(var)
        self.sets[var] = set(ids) if before is None else before.intersection(ids)
        event: dict[str, Any] = {"event": "SetResolved", "var": var, "size": len(ids)}
        if before is not None:
            sizes = {"before": len(before), "other": len(ids), "after": len(self.sets[var])}
            event = {"event": "Intersected", "var": var, **sizes}
        self._observe({**event, "first": self.first(var)})

    def _may_check(self, var: str) -> bool:
        """Whether no lookup takes the filters of a variable: what a text filter means is otherwise the tool's own affair."""
        kind = self.type_of(var)
        known = kind.lookup.fields if kind.lookup else ()
        return all(kind.fields[each.field].kind != "text" or each.field not in known for each in self.filters(var))

    def _check(self, var: str) -> None:
        """Apply the filters of a variable to what its candidates carry, without a call, where all carry it."""
        filters, entities = self.filters(var), self.entities(var)
        carried = all(entity.fields.get(each.field) is not None for entity in entities for each in filters)
        if not carried or not self._may_check(var):
            return
        self._filtered.remove(var)
        try:
            kept = {each.id for each in entities if all(self._meets(each, one) for one in filters)}
        except EgotoolsError as error:
            self._lose(var, set(), filters, [error])
            return
        self.sets[var] = kept
        sizes = {"var": var, "before": len(entities), "after": len(kept)}
        self._observe({"event": "Filtered", **sizes, "first": self.first(var)})

    def _meets(self, entity: Entity, each: FilterConstraint) -> bool:
        """Whether an entity meets a filter by what it carries; of a list, whether one of its values does."""
        value = entity.fields[each.field]
        if self.type_of(each.var).fields[each.field].kind != "date":
            return holds(value, each)
        wanted = self._interval([each])
        outer = read_interval(wanted) if wanted else None
        inner = (read_interval(str(one)) for one in listed(value))
        return outer is not None and any(one is not None and outer.holds(one) for one in inner)

    def _interval(self, filters: Sequence[FilterConstraint]) -> str | None:
        """The days that meet filters by date, as an identifier; None where there are none."""
        read = (read_range(str(each.value), self._today, each.op) for each in filters)  # type: ignore[arg-type]  # a date has no other operator
        return interval_id([each.range for each in read])

    # What could not be done.

    def _give_up(self) -> None:
        """Take out of the graph what no call applied, and what no applied edge joins to the return variable."""
        reached = self._joined(self.graph.return_var, self.pairs, set(self.graph.vars)) & self.sets.keys()
        applied = bool(self.pairs) or any(self.filters(var) for var in reached if var not in self._filtered)
        if not reached or (not applied and (self.missing or self._edges or self._filtered)):
            self._account()
            return
        for var in [each for each in self._filtered if each in reached]:
            self._lose(var, set(), self.filters(var), self._errors({var}))
        left = [var for var in self.graph.vars if var not in reached | self.lost]
        while left:
            part = self._joined(left[0], self.graph.edges, set(left))
            self._lose(left[0], part, self._touching(part), self._errors(part))
            left = [var for var in left if var not in part]
        for edge in [each for each in self._edges if {each.source, each.target} <= reached]:
            errors = [error for task, error in self._failed.items() if task.edge == edge]
            self._lose(edge.source, set(), (edge,), errors)

    def _joined(self, start: str, edges: Iterable[EdgeConstraint], within: set[str]) -> set[str]:
        """The variables that edges join to one, by way of some."""
        found = [start]
        for var in found:
            ends = (end for edge in edges if var in (edge.source, edge.target) for end in (edge.source, edge.target))
            found += [end for end in dict.fromkeys(ends) if end in within and end not in found]
        return set(found)

    def _errors(self, variables: set[str]) -> list[EgotoolsError]:
        return [error for task, error in self._failed.items() if {task.start, task.end} & variables]

    def _touching(self, variables: set[str]) -> tuple[Constraint, ...]:
        return tuple(each for each in self.graph.constraints if variables & {*_variables(each)})

    def _lose(
        self, var: str, variables: set[str], constraints: Sequence[Constraint], reasons: Sequence[object]
    ) -> None:
        known = {each for missing in self.missing for each in missing.constraints}
        new = tuple(each for each in dict.fromkeys(constraints) if each not in known)
        self.lost |= variables
        for each in variables:
            self.sets.pop(each, None)
        self._edges = [each for each in self._edges if not variables & {each.source, each.target}]
        self._filtered = [each for each in self._filtered if each not in variables]
        self.pairs = {edge: pairs for edge, pairs in self.pairs.items() if not variables & {edge.source, edge.target}}
        told = " ".join(dict.fromkeys(map(str, reasons))) or "nothing that could be resolved leads to it"
        self.missing.append(Missing(var, new, told))
        self._observe({"event": "BranchFailed", "missing": self.missing[-1].to_json()})

    def _account(self) -> None:
        """Where nothing could be resolved, say of each constraint why."""
        self.sets.clear()
        for task, error in self._failed.items():
            self._lose(task.end, set(), self.filters(task.end) if task.edge is None else (task.edge,), [error])
        known = {each for missing in self.missing for each in missing.constraints}
        if rest := [each for each in self.graph.constraints if each not in known]:
            self._lose(self.graph.return_var, set(), rest, [])


def _shown(entities: Iterable[Entity]) -> list[dict[str, Any]]:
    """Entities as JSON values for an event; long texts are cut."""
    return [{"id": each.id, "fields": {name: _cut(value) for name, value in each.fields.items()}} for each in entities]


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else "" if isinstance(value, int | float | None) else json.dumps(value)
    return value if len(text) <= _MOST_CHARS else f"{text[: _MOST_CHARS - 1]}…"


def _in_order(entities: Iterable[Entity], order: str) -> list[Entity]:
    """Sort entities by a field, ascending: numbers, then times, then text, then those without it; equal ones, and all without a field, by id."""
    by_id = sorted(entities, key=attrgetter("id"))
    return sorted(by_id, key=lambda entity: _order_key(entity.fields.get(order))) if order else by_id


def _order_key(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool | int | float):
        return 0, value
    if not isinstance(value, str):
        return 3, ""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return 2, value.casefold()
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return 1, aware - _EPOCH  # lengths of time compare many times faster


def _with_only(graph: QueryGraph, negated: Sequence[EdgeConstraint], kept: EdgeConstraint | None) -> QueryGraph:
    """The graph without what is negated, but for one edge that holds; it finds all, so that answers can be compared."""
    behind = ((each, each.target if each.source == graph.return_var else each.source) for each in negated)
    gone = {var for each, start in behind if each is not kept for var in graph.reached(start, without=each)}
    held = [each.model_copy(update={"negated": False}) if each is kept else each for each in graph.constraints]
    constraints = tuple(each for each in held if not ({*_variables(each)} & gone))
    kinds = {var: kind for var, kind in graph.vars.items() if var not in gone}
    update = {"action": "find", "return_mode": "all", "constraints": constraints, "vars": kinds}
    return graph.model_copy(update=update)


def _alternatives(filters: Sequence[FilterConstraint]) -> Iterator[tuple[FilterConstraint, ...]]:
    """The filters with each choice of their values."""
    plain = ([each.model_copy(update={"value": value, "others": ()}) for value in each.values] for each in filters)
    return product(*(ones if each.others else [each] for each, ones in zip(filters, plain, strict=True)))


def _variables(each: Any) -> tuple[str, ...]:
    return (each.source, each.target) if isinstance(each, EdgeConstraint) else (each.var,)
