"""Depth-first traversal of a query graph (Algorithm 1 of the paper QueryWeaver), which resolves the candidate set of each variable.

A variable gets its first set from what binds it, or from a branch that is resolved by itself, upwards. Every other branch is resolved
by itself and intersected, or entered with the candidates of the variable, downwards, so that only what they lead to is fetched. A call
that fails upwards leaves its branch to be entered downwards; one that fails downwards ends the branch. Where every branch of the return
variable fails upwards, all entities of its type are listed, and its branches are entered from these.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nsmallest
from itertools import chain
from typing import Any, NamedTuple

from ontology.errors import EgotoolsError
from planners.dfs.branch_order import BranchOrder
from planners.dfs.intervals import read_interval
from planners.dfs.resolver import Entity, MeteredResolver, Observe, together
from planners.dfs.search_tree import SELF, BoundGraph, Branch, Own, Task
from planners.dfs.witnesses import Pairs
from planners.query.query_graph import Constraint, EdgeConstraint, words_of

__all__ = ["Missing", "Traversal", "shown"]

_MOST_SHOWN = 50  # entities of a candidate set that its event carries, those with the first ids
_MOST_CHARS = 500  # of a field in an event


class Missing(NamedTuple):
    """Constraints that the answer lacks, the variable where their branch ended, and why; none where only the listing of a type failed."""

    var: str
    constraints: tuple[Constraint, ...]
    reason: str

    def to_json(self) -> dict[str, Any]:
        """JSON values; constraints are written as a person writes them."""
        return {"var": self.var, "constraints": [*map(words_of, self.constraints)], "reason": self.reason}


class Traversal:
    """One traversal.

    :ivar sets: variable → identifiers; a variable is absent as long as nothing restricts it.
    :ivar pairs: edge → the variable from which it was followed, and its pairs from there, complete for the candidates of that variable.
    :ivar missing: constraints that were given up, with reasons.
    :ivar applied: constraints that hold in the sets.
    :ivar lost: variables of branches that ended.
    """

    def __init__(self, bound: BoundGraph, order: BranchOrder, calls: MeteredResolver, observe: Observe) -> None:
        self._bound, self._order, self._calls, self._observe = bound, order, calls, observe
        self._open = {var: order.tasks(var) for var in bound.below[bound.root]}
        self._failed: dict[Task, EgotoolsError] = {}
        self._entities: dict[str, dict[str, Entity]] = {}
        self.sets: dict[str, set[str]] = {}
        self.pairs: dict[EdgeConstraint, tuple[str, Pairs]] = {}
        self.missing: list[Missing] = []
        self.applied: set[Constraint] = set()
        self.lost: set[str] = set()

    @property
    def empty(self) -> bool:
        """Whether a variable has no candidate left, so that nothing answers."""
        return not all(self.sets.values())

    def entities(self, var: str, ids: Collection[str] | None = None) -> list[Entity]:
        """What is known of the candidates of a variable, or of some of its entities."""
        known = self._entities.get(self._bound.graph.vars[var], {})
        return [known.get(each) or Entity(each) for each in (self.sets[var] if ids is None else ids)]

    def first(self, var: str) -> list[dict[str, Any]]:
        """The candidates of a variable that its events show."""
        return shown(self.entities(var, nsmallest(_MOST_SHOWN, self.sets[var])))

    async def run(self) -> None:
        """Traverse the tree, then check the edges that close cycles."""
        root = self._bound.root
        if root in self._bound.unread:
            self._lose(root, tuple(self._open), self._bound.graph.constraints, [self._bound.unread[root]])
            return
        await self._resolve(root)
        if not self.applied and self.missing:  # a listed type of which nothing holds is no answer
            self.sets.pop(root, None)
        for edge in self._bound.closing:
            if self.empty or root not in self.sets:
                break
            if edge.source not in self.lost and edge.target not in self.lost:
                await self._close(edge)
        if root not in self.sets:
            self._account()

    async def _resolve(self, var: str) -> None:
        """Apply the open tasks of a variable; it is left without a set where nothing in its branch can give it one."""
        self._observe({"event": "VariableEntered", "var": var, "kind": self._bound.graph.vars[var]})
        mine = self._open[var]
        for task in [each for each in mine if isinstance(each, Branch) and each.child in self._bound.unread]:
            self._give_up(task, self._bound.unread[task.child])
        while var not in self.sets:
            able = [task for task in mine if self._able(task)] or self._last_resort(var)
            if not able:
                return
            await together([self._alone(task) for task in self._order.first(able)])
        while self.sets[var] and mine:
            if isinstance(mine[0], Own) and self._filter(mine[0]):
                continue
            able = [task for task in mine if self._able(task)]
            chosen, alone = self._order.then(len(self.sets[var]), mine, able)
            if alone:
                await together([self._alone(task) for task in chosen])
            else:
                await self._from_candidates(chosen[0])

    def _last_resort(self, var: str) -> list[Task]:
        """To list the type of the return variable, once, where calls towards it failed."""
        own = Own(var)
        if var != self._bound.root or self._bound.type_of(var).kind != "entity" or own in self._open[var]:
            return []
        if not any(isinstance(each, Branch) for each in self._failed):
            return []
        self._open[var].append(own)
        return [own]

    def _able(self, task: Task) -> bool:
        """Whether a task can be resolved by itself."""
        return task not in self._failed and not self._order.drivers.isdisjoint(self._below(task))

    def _below(self, task: Task) -> tuple[str, ...]:
        return self._bound.below[task.child] if isinstance(task, Branch) else (task.var,)

    async def _alone(self, task: Task) -> None:
        """Resolve a task by itself and narrow its variable with the result; where that fails, the task stays open."""
        try:
            ids = await self._find(task.var) if isinstance(task, Own) else await self._up(task)
        except EgotoolsError as error:
            self._failed[task] = error
        else:
            if ids is None:
                self._order.drivers.difference_update(self._below(task))
            else:
                self._finish(task, ids)

    async def _find(self, var: str) -> Collection[str]:
        ids: Collection[str] | None = self._bound.fixed.get(var)
        filters = self._bound.filters(var)
        if ids is None:
            ids = self._learn(var, await self._calls.find(self._bound.graph.vars[var], filters))
        self.applied.update(filters)
        return ids

    async def _up(self, branch: Branch) -> Collection[str] | None:
        """Return what the candidates of a branch lead to; None where nothing in it could be resolved."""
        await self._resolve(branch.child)
        ids = self.sets.get(branch.child)
        return await self._follow(branch.edge, branch.child) if ids else ids

    async def _from_candidates(self, task: Task) -> None:
        """Apply a task to the candidates of its variable; where that fails in every way, its branch ends."""
        try:
            if isinstance(task, Own):
                self._finish(task, await self._find(task.var))
                return
            reached = await self._follow(task.edge, task.var)
        except EgotoolsError as error:
            if isinstance(task, Branch) and self._able(task):
                await self._alone(task)
            if task in self._open[task.var]:
                self._give_up(task, error)
            return
        self._narrow(task.child, reached)
        await self._resolve(task.child)
        left = self.sets[task.child]
        _, pairs = self.pairs[task.edge]
        self._finish(task, {each for each, others in pairs.items() if not left.isdisjoint(others)})

    def _filter(self, own: Own) -> bool:
        """Apply what binds a variable without a call, if that can be done."""
        var = own.var
        filters = self._bound.filters(var)
        if var in self._bound.fixed:
            self.applied.update(filters)
            self._finish(own, self._bound.fixed[var])
            return True
        entities = self.entities(var)
        if not self._bound.can_check(var, entities):
            return False
        try:
            kept = {each.id for each in entities if all(self._bound.meets(each, one) for one in filters)}
        except EgotoolsError as error:
            self._give_up(own, error)
            return True
        self._open[var].remove(own)
        self.applied.update(filters)
        self.sets[var] = kept
        sizes = {"var": var, "before": len(entities), "after": len(kept)}
        self._observe({"event": "Filtered", **sizes, "first": self.first(var)})
        return True

    async def _follow(self, edge: EdgeConstraint, start: str) -> Collection[str]:
        """Follow an edge from the candidates of one of its variables, keep its pairs, and return what it leads to."""
        end = _other_end(edge, start)
        sources = sorted(self.sets[start])
        found = await self._calls.follow(self._bound.step(edge, start), sources)
        there = self._ends(end, found)
        self.pairs[edge] = (start, there)
        self.applied.add(edge)
        sizes = {"sources": len(sources), "pairs": sum(map(len, there.values()))}
        self._observe({"event": "EdgeTraversed", "start": start, "edge": edge.edge, "end": end, **sizes})
        return set().union(*there.values())

    def _ends(self, var: str, found: Mapping[str, list[Entity]]) -> dict[str, set[str]]:
        """Source → the candidates that entities at the end of an edge stand for: of a date, the interval that a day lies in."""
        fixed = self._bound.fixed.get(var)
        if fixed is None:
            self._learn(var, chain.from_iterable(found.values()))
            return {source: {each.id for each in entities} for source, entities in found.items()}
        if not self._bound.is_date(var):
            return {source: {SELF} for source in found}
        outer = {each: interval for each in fixed if (interval := read_interval(each))}
        days = {source: [read_interval(each.id) for each in entities] for source, entities in found.items()}
        return {
            source: {each for each, interval in outer.items() if any(day and interval.holds(day) for day in inner)}
            for source, inner in days.items()
        }

    async def _close(self, edge: EdgeConstraint) -> None:
        """Check an edge whose two variables have candidates."""
        sizes = {var: len(self.sets[var]) for var in (edge.source, edge.target)}
        first = self._order.closing_start(edge, sizes)
        errors = []
        for start in (first, _other_end(edge, first)):
            try:
                ids = await self._follow(edge, start)
            except EgotoolsError as error:
                errors.append(error)
            else:
                self._narrow(_other_end(edge, start), ids)
                return
        self._lose(edge.source, (), (edge,), errors)

    def _learn(self, var: str, entities: Iterable[Entity]) -> set[str]:
        """Keep entities, their fields joined with what was known of them, and return their identifiers."""
        known = self._entities.setdefault(self._bound.graph.vars[var], {})
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

    def _finish(self, task: Task, ids: Collection[str]) -> None:
        self._narrow(task.var, ids)
        self._open[task.var].remove(task)

    def _give_up(self, task: Task, error: EgotoolsError) -> None:
        errors = [self._failed[task], error] if task in self._failed else [error]
        if isinstance(task, Own):
            self._lose(task.var, (), self._bound.filters(task.var), errors)
        else:
            below = self._below(task)
            self._lose(task.var, below, self._bound.touching(below), errors)
        self._open[task.var].remove(task)

    def _lose(
        self, var: str, variables: tuple[str, ...], constraints: tuple[Constraint, ...], reasons: Sequence[object]
    ) -> None:
        """End a branch: its variables are no longer part of the graph."""
        known = {each for missing in self.missing for each in missing.constraints}
        new = tuple(each for each in dict.fromkeys(constraints) if each not in known)
        missing = Missing(var, new, " ".join(dict.fromkeys(map(str, reasons))))
        self.lost.update(variables)
        self._order.drivers.difference_update(variables)
        for each in variables:
            self.sets.pop(each, None)
        self.applied.difference_update(constraints)
        self.missing.append(missing)
        self._observe({"event": "BranchFailed", "missing": missing.to_json()})

    def _account(self) -> None:
        """Where nothing could be resolved, say of each constraint why."""
        for task, error in self._failed.items():
            own = self._bound.filters(task.var) if isinstance(task, Own) else (task.edge,)
            self._lose(task.var, (), own, [error])
        known = {each for missing in self.missing for each in missing.constraints}
        rest = tuple(each for each in self._bound.graph.constraints if each not in known)
        if rest:
            self._lose(self._bound.root, (), rest, ["nothing that could be resolved leads to it"])


def shown(entities: Iterable[Entity]) -> list[dict[str, Any]]:
    """Return entities as JSON values for an event; long texts are cut."""
    return [{"id": each.id, "fields": {name: _cut(value) for name, value in each.fields.items()}} for each in entities]


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else "" if isinstance(value, int | float | None) else json.dumps(value)
    return value if len(text) <= _MOST_CHARS else f"{text[: _MOST_CHARS - 1]}…"


def _other_end(edge: EdgeConstraint, var: str) -> str:
    return edge.target if var == edge.source else edge.source
