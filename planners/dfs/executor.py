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
from collections.abc import Mapping
from itertools import combinations

from ontology.errors import InvalidArgumentError
from planners.dfs.execution.arc_consistency import links_of
from planners.dfs.execution.bound_graph import BoundGraph, bind
from planners.dfs.execution.branch_order import PaperOrder, selective_order
from planners.dfs.execution.carried_fields import ResolveDate
from planners.dfs.execution.execution import Execution, Totals
from planners.dfs.execution.execution_events import Done, Event, Filtered, Observe, Pruned
from planners.dfs.execution.executor_settings import ExecutorSettings
from planners.dfs.execution.metered_resolver import MeteredResolver
from planners.dfs.execution.ordinals import in_order, read_ordinal
from planners.dfs.execution.search_tree import SearchTree, distances, search_tree
from planners.dfs.execution.traversal import Traversal
from planners.dfs.execution.witnesses import Witnesses
from planners.dfs.execution.work import Work
from planners.dfs.resolver import Entity, Resolver
from planners.query.domain import Domain
from planners.query.graph_faults import graph_faults
from planners.query.query_graph import QueryGraph

__all__ = ["execute"]

_PASS_SHARE = 0.1  # of max_seconds: what the second pass has where calls took all of it


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
    bound, tree = _checked(graph, domain, resolve_date, settings)
    calls = MeteredResolver(resolver, settings, observe)
    order = PaperOrder(bound, tree) if settings.order == "paper" else await selective_order(bound, tree, calls)
    traversal = Traversal(bound, tree, order, calls, observe)
    await traversal.run()
    events: list[Event] = []
    now = time.perf_counter()
    work = Work(
        settings.max_witness_steps, max(started + settings.max_seconds, now + _PASS_SHARE * settings.max_seconds)
    )
    try:  # other work of the event loop goes on beside it
        exact, candidates = await asyncio.to_thread(_settled, bound, tree, traversal, work, events.append)
    finally:
        work.stopped = True  # a thread cannot be cancelled
    for event in events:
        observe(event)
    found = candidates.get(graph.return_var)
    shown = found or () if graph.action == "find" else ()
    wall_s = time.perf_counter() - started
    totals = Totals(len(calls.log), calls.rows, wall_s * 1000, (wall_s - calls.busy.busy_s) * 1000)
    observe(Done(None if found is None else len(found), totals.calls, totals.rows))
    return Execution(
        answer=shown[:1] if graph.return_mode == "one" else shown,
        count=None if found is None else len(found),
        candidates=candidates,
        missing=tuple(traversal.missing),
        calls=tuple(calls.log),
        totals=totals,
        exact=exact,
    )


def _checked(
    graph: QueryGraph, domain: Domain, resolve_date: ResolveDate, settings: ExecutorSettings
) -> tuple[BoundGraph, SearchTree]:
    """Refuse what cannot be executed."""
    faults = graph_faults(graph, domain)
    if faults:
        raise InvalidArgumentError(" ".join(faults).rstrip("."), subject="graph", remedy="Correct the graph")
    bound, tree = bind(graph, domain, resolve_date), search_tree(graph)
    if tree.depth > settings.max_depth:
        raise InvalidArgumentError(
            f"it is {tree.depth} edges deep, and at most {settings.max_depth} are allowed",
            subject="graph",
            remedy="Ask for less at once, or raise max_depth",
        )
    if not bound.unread and all(bound.is_date(var) and not bound.is_bound(var) for var in graph.vars):
        raise InvalidArgumentError(
            "dates without filters are all it has, and nobody can list these",
            subject="graph",
            remedy="Add a constraint",
        )
    for var in graph.vars:
        if bound.type_of(var).kind == "self" and bound.filters(var):
            raise InvalidArgumentError(
                "the user is one entity and takes no filter", subject=var, remedy="Use another type, or leave it out"
            )
        for each in bound.ordinals(var):
            read_ordinal(each.value)
    return bound, tree


def _settled(
    bound: BoundGraph, tree: SearchTree, traversal: Traversal, work: Work, observe: Observe
) -> tuple[bool, Mapping[str, tuple[Entity, ...]]]:
    """The second pass: whether its result is exact, and variable → candidates in order."""
    exact = _second_pass(bound, traversal, work, observe)
    in_answer = [var for var in tree.below[tree.root] if var in traversal.state.sets]
    return exact, {var: tuple(_sorted(bound, traversal, var)) for var in in_answer}


def _second_pass(bound: BoundGraph, traversal: Traversal, work: Work, observe: Observe) -> bool:
    """Leave in each set what is part of a complete answer, ordinals applied; return whether that is exact."""
    sets = traversal.state.sets
    if bound.graph.return_var not in sets:
        sets.clear()
        return True
    if traversal.empty:
        sets.update({var: set() for var in bound.graph.vars if var not in traversal.lost})
        observe(Pruned(dict.fromkeys(sorted(sets), 0)))
        return True
    pairs = {edge: pairs for edge, pairs in traversal.state.pairs.items() if edge in traversal.applied}
    different = [
        (one, two)
        for one, two in combinations(sorted(sets), 2)
        if bound.graph.vars[one] == bound.graph.vars[two] and bound.type_of(one).kind == "entity"
    ]
    witnesses = Witnesses(links_of(pairs), different, work)
    witnesses.prune(sets)
    far = distances(bound.graph)
    for var in sorted(sets, key=lambda var: (-far[var], list(bound.graph.vars).index(var))):
        for each in bound.ordinals(var):
            place, before = read_ordinal(each.value), _sorted(bound, traversal, var)
            kept = before[place:][:1] if place >= -len(before) else []
            sets[var] = {entity.id for entity in kept}
            observe(Filtered(var, len(before), len(kept), tuple(kept)))
            witnesses.prune(sets)
    names = sorted(sets)
    observe(Pruned({var: len(sets[var]) for var in names}, {var: traversal.state.first(var) for var in names}))
    return witnesses.exact


def _sorted(bound: BoundGraph, traversal: Traversal, var: str) -> list[Entity]:
    entities = traversal.state.known(bound.graph.vars[var], traversal.state.sets[var])
    return in_order(entities, bound.type_of(var).order)
