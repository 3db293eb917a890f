"""The executor of query graphs.

It is Algorithm 1 of the paper QueryWeaver (arXiv 2606.08300, appendix A3), with what that leaves open. What a graph means:

* An *assignment* gives each variable an entity of its type, such that every edge joins the entities of its two variables and every
  filter holds. Two variables of one type stand for different entities; this is not said of the user and of dates.
* The variable of a type of kind ``self`` is the one entity ``self``.
* A date with filters is the half-open interval that all of them leave; an edge joins it to whatever has a date inside that interval.
  A date without filter is a day, as edges give it, and two edges to it give the same day.
* An ordinal applies after all other constraints of the graph: of the candidates of its variable, in the order of the type's ``order``
  field, ties by id, only the one in that place stays. Of several ordinals the one farthest from the return variable applies first, those
  at the same distance in the order of the variables, and each sees what the one before it left.
* The candidates of a variable are its entities in at least one assignment; those of the return variable answer. ``count`` counts them.
  Mode ``one`` gives the first in order.

A filter means what the resolver finds by it. Where no lookup of its type takes the field, and for numbers, booleans and dates, it is
checked on the field that the candidates carry, which needs no call.

A failed call does not end the run. What could not be applied is in ``missing``; the answer is exact for the graph without it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from itertools import combinations, product
from operator import attrgetter
from typing import Any

from ontology.errors import InvalidArgumentError
from planners.calls.tool_access import CallLimits
from planners.dfs.branch_order import BranchOrder, SelectiveOrder
from planners.dfs.resolver import Call, Entity, ExecutorSettings, MeteredResolver, Observe, Resolver
from planners.dfs.search_tree import BoundGraph, ResolveDate
from planners.dfs.traversal import Missing, Traversal, shown
from planners.dfs.witnesses import Witnesses, Work
from planners.query.dates import read_range
from planners.query.domain import Domain
from planners.query.graph_faults import graph_faults
from planners.query.ordinals import read_ordinal
from planners.query.query_graph import EdgeConstraint, FilterConstraint, QueryGraph

__all__ = ["Execution", "Totals", "answer_graph", "date_resolver", "execute"]

_PASS_SHARE = 0.1  # of max_seconds: what the second pass has where calls took all of it
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Totals:
    """Calls, rows fetched, milliseconds from start to end, and those of them in which no call was under way."""

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


def date_resolver(today: date) -> ResolveDate:
    """Return what reads the date words of a graph's filters against a day."""

    def resolve(each: FilterConstraint) -> tuple[date | None, date | None]:
        op: Any = each.op  # graph_faults lets no other operator of a date pass
        found = read_range(str(each.value), today, op).range
        return found.start, found.end

    return resolve


async def answer_graph(
    graph: QueryGraph,
    domain: Domain,
    resolver: Resolver,
    *,
    today: date,
    limits: CallLimits,
    observe: Observe = lambda event: None,
) -> dict[str, Any]:
    """Execute a graph, its dates read against a day, and return the execution as JSON values.

    Of a graph that excludes or has alternatives each plain graph is executed; the answer, the count, calls and totals are of all together.

    :param limits: bounds of the executor too, where they are set.
    :raises InvalidArgumentError: as of :func:`execute`.
    """
    bounds = {"max_calls": limits.calls, "max_seconds": limits.seconds}
    settings = ExecutorSettings.model_validate({name: most for name, most in bounds.items() if most is not None})
    resolve_date = date_resolver(today)

    async def answered(plain: QueryGraph) -> dict[str, Any]:
        found = await execute(plain, domain, resolver, resolve_date=resolve_date, settings=settings, observe=observe)
        return found.to_json()

    wanted = list(_plain(graph))
    if wanted == [graph]:
        return await answered(graph)
    found = [await answered(each) for each in wanted]
    negated = [_with_only(graph, edge) for edge in graph.edges if edge.negated]
    excluded = [await answered(each) for one in negated for each in _plain(one)]
    out = {each["id"] for one in excluded for each in one["answer"]}
    answer = {each["id"]: each for one in found for each in one["answer"] if each["id"] not in out}
    every = [*found, *excluded]
    shown = list(answer.values()) if graph.action == "find" else []
    return {
        **found[0],
        "answer": shown[:1] if graph.return_mode == "one" else shown,
        "count": len(answer) if all(each["count"] is not None for each in every) else None,
        "missing": [missing for each in every for missing in each["missing"]],
        "calls": [call for each in every for call in each["calls"]],
        "totals": {key: sum(each["totals"][key] for each in every) for key in found[0]["totals"]},
        "exact": all(each["exact"] for each in every),
    }


async def execute(
    graph: QueryGraph,
    domain: Domain,
    resolver: Resolver,
    *,
    resolve_date: ResolveDate,
    settings: ExecutorSettings | None = None,
    observe: Observe = lambda event: None,
) -> Execution:
    """Execute a query graph. A cancelled execution leaves no task behind.

    :param resolve_date: turns a filter by a date expression into a half-open range.
    :param observe: is called with each event, in the event loop.
    :raises InvalidArgumentError: when the graph has a fault under the domain, is too deep, or has nothing to start from; before any call.
    """
    settings = settings or ExecutorSettings()
    started = time.perf_counter()
    bound = _checked(graph, domain, resolve_date, settings)
    calls = MeteredResolver(resolver, settings, observe)
    order = BranchOrder(bound)
    if settings.order == "selective":
        order = SelectiveOrder(bound)
        await order.ask(calls)
    traversal = Traversal(bound, order, calls, observe)
    await traversal.run()
    events: list[dict[str, Any]] = []
    now = time.perf_counter()
    late = max(started + settings.max_seconds, now + _PASS_SHARE * settings.max_seconds)
    work = Work(settings.max_witness_steps, late)
    try:  # other work of the event loop goes on beside it
        candidates = await asyncio.to_thread(_second_pass, bound, traversal, work, events.append)
    finally:
        exact = not work.stopped
        work.stopped = True  # a thread cannot be cancelled
    for event in events:
        observe(event)
    found = candidates.get(graph.return_var)
    answer = found or () if graph.action == "find" else ()
    wall_s = time.perf_counter() - started
    totals = Totals(len(calls.log), calls.rows, wall_s * 1000, (wall_s - calls.busy_s) * 1000)
    count = None if found is None else len(found)
    observe({"event": "Done", "count": count, "calls": totals.calls, "rows": totals.rows})
    return Execution(
        answer=answer[:1] if graph.return_mode == "one" else answer,
        count=count,
        candidates=candidates,
        missing=tuple(traversal.missing),
        calls=tuple(calls.log),
        totals=totals,
        exact=exact,
    )


def _checked(graph: QueryGraph, domain: Domain, resolve_date: ResolveDate, settings: ExecutorSettings) -> BoundGraph:
    """Refuse what cannot be executed."""
    if faults := graph_faults(graph, domain):
        raise InvalidArgumentError(" ".join(faults).rstrip("."), subject="graph", remedy="Correct the graph")
    if any(each.negated for each in graph.edges) or any(each.others for each in graph.filters):
        problem = "it excludes something, or has alternatives, and one execution does neither"
        raise InvalidArgumentError(problem, subject="graph", remedy="Use answer_composed of planners.dfs.composed")
    bound = BoundGraph(graph, domain, resolve_date)
    if bound.depth > settings.max_depth:
        problem = f"it is {bound.depth} edges deep, and at most {settings.max_depth} are allowed"
        raise InvalidArgumentError(problem, subject="graph", remedy="Ask for less at once, or raise max_depth")
    if not bound.unread and all(bound.is_date(var) and not bound.is_bound(var) for var in graph.vars):
        problem = "dates without filters are all it has, and nobody can list these"
        raise InvalidArgumentError(problem, subject="graph", remedy="Add a constraint")
    for var in graph.vars:
        if bound.type_of(var).kind == "self" and bound.filters(var):
            problem = "the user is one entity and takes no filter"
            raise InvalidArgumentError(problem, subject=var, remedy="Use another type, or leave it out")
        for each in bound.filters(var, ordinal=True):
            read_ordinal(each.value)
    return bound


def _second_pass(
    bound: BoundGraph, traversal: Traversal, work: Work, observe: Observe
) -> Mapping[str, tuple[Entity, ...]]:
    """Leave in each set what is part of a complete answer, ordinals applied; return variable → candidates in order."""
    sets = traversal.sets

    def in_order(var: str) -> list[Entity]:
        return _in_order(traversal.entities(var), bound.type_of(var).order)

    if bound.root not in sets:
        return {}
    if traversal.empty:
        sets.update({var: set() for var in bound.graph.vars if var not in traversal.lost})
        observe({"event": "Pruned", "sizes": dict.fromkeys(sorted(sets), 0), "first": {}})
    else:
        pairs = {edge: pairs for edge, pairs in traversal.pairs.items() if edge in traversal.applied}
        entities = [var for var in sorted(sets) if bound.type_of(var).kind == "entity"]
        kinds = bound.graph.vars
        different = [(one, two) for one, two in combinations(entities, 2) if kinds[one] == kinds[two]]
        witnesses = Witnesses(pairs, different, work)
        witnesses.prune(sets)
        far, places = bound.distances(), list(kinds)
        for var in sorted(sets, key=lambda var: (-far[var], places.index(var))):
            for each in bound.filters(var, ordinal=True):
                place, before = read_ordinal(each.value), in_order(var)
                kept = before[place:][:1] if place >= -len(before) else []
                sets[var] = {entity.id for entity in kept}
                sizes = {"var": var, "before": len(before), "after": len(kept)}
                observe({"event": "Filtered", **sizes, "first": shown(kept)})
                witnesses.prune(sets)
        first = {var: traversal.first(var) for var in sorted(sets)}
        observe({"event": "Pruned", "sizes": {var: len(sets[var]) for var in first}, "first": first})
    return {var: tuple(in_order(var)) for var in bound.below[bound.root] if var in sets}


def _in_order(entities: Iterable[Entity], order: str) -> list[Entity]:
    """Sort entities by a field, ascending: numbers, then times, then text, then those without it; equal ones by id.

    :param order: the field; empty: by id alone.
    """
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


def _plain(graph: QueryGraph) -> Iterator[QueryGraph]:
    """The graphs without what is negated, one for each choice among alternative values; they find all, so that answers can be compared."""
    gone = {var for edge in graph.edges if edge.negated for var in _behind(graph, edge)}
    kept = [
        each
        for each in graph.constraints
        if not (isinstance(each, EdgeConstraint) and (each.negated or {each.source, each.target} & gone))
        and not (isinstance(each, FilterConstraint) and each.var in gone)
    ]
    choices = [each.values if isinstance(each, FilterConstraint) else () for each in kept]
    if not gone and all(len(values) < 2 for values in choices):
        yield graph
        return
    for chosen in product(*(values or (None,) for values in choices)):
        pairs = zip(kept, chosen, strict=True)
        constraints = [
            each if value is None else each.model_copy(update={"value": value, "others": ()}) for each, value in pairs
        ]
        kinds = {var: kind for var, kind in graph.vars.items() if var not in gone}
        yield _changed(graph, constraints, kinds)


def _with_only(graph: QueryGraph, edge: EdgeConstraint) -> QueryGraph:
    """The graph in which a negated edge holds, and what else is negated is left out."""
    out = {each for each in graph.edges if each.negated and each is not edge}
    gone = {var for each in out for var in _behind(graph, each)}
    turned = [each.model_copy(update={"negated": False}) if each is edge else each for each in graph.constraints]
    kept = [each for each in turned if each not in out and not ({*_variables(each)} & gone)]
    return _changed(graph, kept, {var: kind for var, kind in graph.vars.items() if var not in gone})


def _changed(graph: QueryGraph, constraints: Iterable[Any], kinds: dict[str, str]) -> QueryGraph:
    update = {"action": "find", "return_mode": "all", "constraints": tuple(constraints), "vars": kinds}
    return graph.model_copy(update=update)


def _variables(each: Any) -> tuple[str, ...]:
    return (each.source, each.target) if isinstance(each, EdgeConstraint) else (each.var,)


def _behind(graph: QueryGraph, edge: EdgeConstraint) -> set[str]:
    """The variables behind a negated edge, seen from the return variable."""
    start = edge.target if edge.source == graph.return_var else edge.source
    found, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        ends = {end for each in graph.edges_of(here) if each is not edge for end in (each.source, each.target)} - found
        found |= ends
        waiting.extend(ends)
    return found
