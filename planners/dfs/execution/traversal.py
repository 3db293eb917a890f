"""Depth-first traversal of a query graph (Algorithm 1 of the paper QueryWeaver), which resolves the candidate set of each variable.

A variable gets its first set from what binds it, or from a branch that is resolved by itself, upwards. Every other branch is resolved
by itself and intersected, or entered with the candidates of the variable, downwards, so that only what they lead to is fetched. A call
that fails upwards leaves its branch to be entered downwards; one that fails downwards ends the branch. Where every branch of the return
variable fails upwards, all entities of its type are listed, and its branches are entered from these.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from ontology.errors import EgotoolsError
from planners.dfs.execution.bound_graph import SELF, BoundGraph
from planners.dfs.execution.branch_order import BranchOrder
from planners.dfs.execution.candidate_sets import CandidateSets
from planners.dfs.execution.carried_fields import carry_all, meets
from planners.dfs.execution.day_intervals import read_interval
from planners.dfs.execution.execution import Missing
from planners.dfs.execution.execution_events import BranchFailed, EdgeTraversed, Filtered, Observe, VariableEntered
from planners.dfs.execution.metered_resolver import MeteredResolver
from planners.dfs.execution.search_tree import Branch, Own, SearchTree, Task
from planners.dfs.execution.together import together
from planners.dfs.resolver import Entity
from planners.query.query_graph import Constraint, EdgeConstraint

__all__ = ["Traversal"]


class Traversal:
    """One traversal.

    :param state: candidate sets and pairs, filled by :meth:`run`.
    :param missing: constraints that were given up, with reasons.
    :param applied: constraints that hold in the state.
    :param lost: variables of branches that ended.
    """

    def __init__(
        self, bound: BoundGraph, tree: SearchTree, order: BranchOrder, calls: MeteredResolver, observe: Observe
    ) -> None:
        self._bound, self._tree, self._order, self._calls, self._observe = bound, tree, order, calls, observe
        self._open = {var: order.tasks(var) for var in tree.below[tree.root]}
        self._failed: dict[Task, EgotoolsError] = {}
        self.state = CandidateSets(observe, bound.graph.vars)
        self.missing: list[Missing] = []
        self.applied: set[Constraint] = set()
        self.lost: set[str] = set()

    @property
    def empty(self) -> bool:
        """Whether a variable has no candidate left, so that nothing answers."""
        return not all(self.state.sets.values())

    async def run(self) -> None:
        """Traverse the tree, then check the edges that close cycles."""
        root = self._tree.root
        if root in self._bound.unread:
            self._lose(root, tuple(self._open), self._bound.graph.constraints, [self._bound.unread[root]])
            return
        await self._resolve(root)
        if not self.applied and self.missing:  # a listed type of which nothing holds is no answer
            self.state.sets.pop(root, None)
        for edge in self._tree.closing:
            if self.empty or root not in self.state.sets:
                break
            if edge.source not in self.lost and edge.target not in self.lost:
                await self._close(edge)
        self._account()

    async def _resolve(self, var: str) -> None:
        """Apply the open tasks of a variable; it is left without a set where nothing in its branch can give it one."""
        self._observe(VariableEntered(var, self._bound.graph.vars[var]))
        mine, sets = self._open[var], self.state.sets
        for task in [each for each in mine if isinstance(each, Branch) and each.child in self._bound.unread]:
            self._give_up(task, self._bound.unread[task.child])
        while var not in sets:
            able = [task for task in mine if self._able(task)] or self._last_resort(var)
            if not able:
                return
            await together([self._alone(task) for task in self._order.first(able)])
        while sets[var] and mine:
            if isinstance(mine[0], Own) and self._filter(mine[0]):
                continue
            able = [task for task in mine if self._able(task)]
            chosen, alone = self._order.then(len(sets[var]), mine, able)
            if alone:
                await together([self._alone(task) for task in chosen])
            else:
                await self._from_candidates(chosen[0])

    def _last_resort(self, var: str) -> list[Task]:
        """To list the type of the return variable, once, where calls towards it failed."""
        own = Own(var)
        if var != self._tree.root or self._bound.type_of(var).kind != "entity" or own in self._open[var]:
            return []
        if not any(isinstance(each, Branch) for each in self._failed):
            return []
        self._open[var].append(own)
        return [own]

    def _able(self, task: Task) -> bool:
        """Whether a task can be resolved by itself."""
        return task not in self._failed and not self._order.drivers.isdisjoint(self._below(task))

    def _below(self, task: Task) -> tuple[str, ...]:
        return self._tree.below[task.child] if isinstance(task, Branch) else (task.var,)

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
        if var in self._bound.fixed:
            ids: Collection[str] = self._bound.fixed[var]
        else:
            kind = self._bound.graph.vars[var]
            ids = self.state.learn(kind, await self._calls.find(kind, self._bound.filters(var)))
        self.applied.update(self._bound.filters(var))
        return ids

    async def _up(self, branch: Branch) -> Collection[str] | None:
        """Return what the candidates of a branch lead to; None where nothing in it could be resolved."""
        await self._resolve(branch.child)
        ids = self.state.sets.get(branch.child)
        return await self._follow(branch.edge, branch.child) if ids else ids

    async def _from_candidates(self, task: Task) -> None:
        """Apply a task to the candidates of its variable; where that fails in every way, its branch ends."""
        try:
            if isinstance(task, Own):
                self._finish(task, await self._find(task.var))
                return
            reached = await self._follow(task.edge, task.parent)
        except EgotoolsError as error:
            if isinstance(task, Branch) and self._able(task):
                await self._alone(task)
            if task in self._open[_variable(task)]:
                self._give_up(task, error)
            return
        self.state.narrow(task.child, reached)
        await self._resolve(task.child)
        left = self.state.sets[task.child]
        _, pairs = self.state.pairs[task.edge]
        self._finish(task, {each for each, others in pairs.items() if not left.isdisjoint(others)})

    def _filter(self, own: Own) -> bool:
        """Apply what binds a variable without a call, if that can be done."""
        var, state = own.var, self.state
        if var in self._bound.fixed:
            self.applied.update(self._bound.filters(var))
            self._finish(own, self._bound.fixed[var])
            return True
        filters, fields = self._bound.filters(var), self._bound.type_of(var).fields
        entities = state.known(self._bound.graph.vars[var], state.sets[var])
        if not all(map(self._bound.is_checked_here, filters)) or not carry_all(entities, filters):
            return False
        try:
            kept = {
                each.id
                for each in entities
                if all(meets(each, one, fields, self._bound.resolve_date) for one in filters)
            }
        except EgotoolsError as error:
            self._give_up(own, error)
            return True
        self._open[var].remove(own)
        self.applied.update(filters)
        state.sets[var] = kept
        self._observe(Filtered(var, len(entities), len(kept), state.first(var)))
        return True

    async def _follow(self, edge: EdgeConstraint, start: str) -> Collection[str]:
        """Follow an edge from the candidates of one of its variables, keep its pairs, and return what it leads to."""
        end = edge.target if start == edge.source else edge.source
        sources = sorted(self.state.sets[start])
        found = await self._calls.follow(self._bound.step(edge, start), sources)
        there = self._ends(end, found)
        self.state.pairs[edge] = (start, there)
        self.applied.add(edge)
        pairs = sum(map(len, there.values()))
        self._observe(EdgeTraversed(start, edge.edge, end, len(sources), pairs))
        return set().union(*there.values())

    def _ends(self, var: str, found: Mapping[str, list[Entity]]) -> dict[str, set[str]]:
        """Source → the candidates that entities at the end of an edge stand for: of a date, the interval that a day lies in."""
        fixed = self._bound.fixed.get(var)
        if fixed is None:
            self.state.learn(self._bound.graph.vars[var], chain.from_iterable(found.values()))
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
        sizes = {var: len(self.state.sets[var]) for var in (edge.source, edge.target)}
        first = self._order.closing_start(edge, sizes)
        errors = []
        for start in sorted(sizes, key=lambda var: var != first):
            try:
                ids = await self._follow(edge, start)
            except EgotoolsError as error:
                errors.append(error)
            else:
                self.state.narrow(edge.target if start == edge.source else edge.source, ids)
                return
        self._lose(edge.source, (), (edge,), errors)

    def _finish(self, task: Task, ids: Collection[str]) -> None:
        self.state.narrow(_variable(task), ids)
        self._open[_variable(task)].remove(task)

    def _give_up(self, task: Task, error: EgotoolsError) -> None:
        errors = [self._failed[task], error] if task in self._failed else [error]
        if isinstance(task, Own):
            self._lose(task.var, (), self._bound.filters(task.var), errors)
        else:
            below = self._tree.below[task.child]
            self._lose(task.parent, below, self._bound.touching(below), errors)
        self._open[_variable(task)].remove(task)

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
            self.state.sets.pop(each, None)
        self.applied.difference_update(constraints)
        self.missing.append(missing)
        self._observe(BranchFailed(missing))

    def _account(self) -> None:
        """Where nothing could be resolved, say of each constraint why."""
        root = self._tree.root
        if root in self.state.sets:
            return
        for task, error in self._failed.items():
            own = self._bound.filters(task.var) if isinstance(task, Own) else (task.edge,)
            self._lose(_variable(task), (), own, [error])
        known = {each for missing in self.missing for each in missing.constraints}
        rest = tuple(each for each in self._bound.graph.constraints if each not in known)
        if rest:
            self._lose(root, (), rest, ["nothing that could be resolved leads to it"])


def _variable(task: Task) -> str:
    return task.var if isinstance(task, Own) else task.parent
