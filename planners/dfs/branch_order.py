"""The order of branches: the paper's, and the most selective first, by rows estimated from the tools' counts.

A step from n sources gives n times as many rows as there are entities of the target's type for each entity of the source's type,
and at least n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from planners.dfs.intervals import read_interval
from planners.dfs.resolver import MeteredResolver, together
from planners.dfs.search_tree import BoundGraph, Branch, Own, Task
from planners.query.query_graph import EdgeConstraint, FilterConstraint

__all__ = ["BranchOrder", "SelectiveOrder"]

_UNKNOWN_SIZE = 1_000.0  # entities of a type that nobody counts
_UNKNOWN_SHARE = 0.1  # of them that meet filters that nobody counts
_DAYS = 1_000.0  # days that data are spread over, about three years


class BranchOrder:
    """The paper's (Algorithm 1): neighbours as listed, each branch from its leaves, then the variable's filters.

    A leaf without filter is listed. In the paper's log it is the word "all", for which its tools answer with the whole edge; ours take
    identifiers. Only dates cannot be listed.

    :ivar drivers: variables that have candidates of their own to start from.
    """

    def __init__(self, bound: BoundGraph) -> None:
        self.bound = bound
        within = bound.below[bound.root]
        entities = [var for var in within if bound.type_of(var).kind == "entity"]
        own = [var for var in within if bound.is_bound(var)]
        leaves = [var for var in within if not bound.branches[var] and (var in own or var in entities)]
        self.drivers = set(leaves or own or entities[:1]) - set(bound.unread)
        self._own = self.drivers.union(own)

    def tasks(self, var: str) -> list[Task]:
        """All tasks of a variable: its branches, then what binds it."""
        return [*self.bound.branches[var], *([Own(var)] if var in self._own else [])]

    def first(self, able: Sequence[Task]) -> Sequence[Task]:
        """Of the tasks that can give a variable its first set, those to resolve at once: all."""
        return able

    def then(self, size: int, tasks: Sequence[Task], able: Sequence[Task]) -> tuple[Sequence[Task], bool]:
        """Of the remaining tasks of a variable with so many candidates, those to apply now, and whether by themselves or from these."""
        return tasks[:1], tasks[0] in able

    def closing_start(self, edge: EdgeConstraint, sizes: Mapping[str, int]) -> str:
        """The variable from which an edge between two candidate sets is checked: the one with fewer, of which the algorithm says nothing."""
        return min(sizes, key=sizes.__getitem__)


class _Estimate(NamedTuple):
    """Rows to fetch, and the size of the set that they give."""

    rows: float
    size: float


class SelectiveOrder(BranchOrder):
    """The task with the fewest rows first; a further one by itself or from the candidates, whichever fetches fewer."""

    def __init__(self, bound: BoundGraph) -> None:
        super().__init__(bound)
        self.drivers = {var for var in bound.below[bound.root] if bound.is_bound(var)}
        self._counts: dict[tuple[str, tuple[FilterConstraint, ...]], int | None] = {}

    async def ask(self, calls: MeteredResolver) -> None:
        """Ask for counts where there is a choice. Where nothing is bound, the type with the fewest entities is listed."""
        bound = self.bound
        kinds = {var: bound.graph.vars[var] for var in bound.below[bound.root] if bound.type_of(var).kind == "entity"}
        filtered = {(kinds[var], bound.filters(var)) for var in self.drivers & kinds.keys()}
        if len(self.drivers or kinds) > 1 or bound.closing:
            asked = sorted({(kind, ()) for kind in kinds.values()} | filtered, key=repr)
            counts = await together([calls.count(kind, filters) for kind, filters in asked])
            self._counts = dict(zip(asked, counts, strict=True))
        if not self.drivers and not bound.unread and kinds:
            self.drivers = {min(kinds, key=self._bound_size)}

    def tasks(self, var: str) -> list[Task]:
        """What binds the variable, then its branches."""
        own = [Own(var)] if self.bound.is_bound(var) or var in self.drivers else []
        return [*own, *self.bound.branches[var]]

    def first(self, able: Sequence[Task]) -> Sequence[Task]:
        """The best, and with it those that fetch no more rows by themselves than from its result."""
        best = min(able, key=lambda task: self._alone(task).rows)
        size = self._alone(best).size
        return [task for task in able if task is best or self._better_alone(task, size)]

    def then(self, size: int, tasks: Sequence[Task], able: Sequence[Task]) -> tuple[Sequence[Task], bool]:
        """What fetches the fewest rows; where that is a branch by itself, with it those as in :meth:`first`."""
        next_one = min(tasks, key=lambda task: self._sideways(task, size))
        alone = [task for task in able if self._better_alone(task, size)]
        best = min(alone, key=lambda task: self._alone(task).rows, default=None)
        if best is None or self._sideways(next_one, size) < self._alone(best).rows:
            return [next_one], False
        left = min(size, self._alone(best).size)
        return [task for task in alone if task is best or self._better_alone(task, left)], True

    def closing_start(self, edge: EdgeConstraint, sizes: Mapping[str, int]) -> str:
        """The one from which fewer rows come."""
        rows = {edge.source: self._step_rows(edge.source, edge.target, sizes[edge.source])}
        rows[edge.target] = self._step_rows(edge.target, edge.source, sizes[edge.target])
        return min(rows, key=rows.__getitem__)

    def _better_alone(self, task: Task, size: float) -> bool:
        # What binds a variable is the same call either way, which may prove needless.
        return isinstance(task, Branch) and self._alone(task).rows <= self._sideways(task, size)

    def _alone(self, task: Task) -> _Estimate:
        """Resolving a task by itself, from the drivers in its branch; infinite where there are none."""
        if isinstance(task, Own):
            size = self._bound_size(task.var) if task.var in self.drivers else inf
            return _Estimate(0.0 if task.var in self.bound.fixed and size < inf else size, size)
        best = min(map(self._alone, self._within(task.child)), key=lambda each: each.rows)
        if best.rows == inf:
            return best
        rows = self._step_rows(task.child, task.var, best.size)
        return _Estimate(best.rows + rows, min(rows, self._type_size(task.var)))

    def _sideways(self, task: Task, size: float) -> float:
        """Rows of a task from so many candidates of its variable: down a branch and everything beyond."""
        if isinstance(task, Own):
            return 0.0 if task.var in self.bound.fixed else self._bound_size(task.var)
        rows = self._step_rows(task.var, task.child, size)
        reached = min(rows, self._type_size(task.child))
        beyond = [each for each in self._within(task.child) if isinstance(each, Branch) or each.var in self.drivers]
        return rows + sum(min(self._alone(each).rows, self._sideways(each, reached)) for each in beyond)

    def _within(self, var: str) -> tuple[Task, ...]:
        return (Own(var), *self.bound.branches[var])

    def _step_rows(self, start: str, end: str, sources: float) -> float:
        """Rows of a step along an edge from so many candidates of one variable to another."""
        if self.bound.is_date(end):
            return sources
        ratio = self._type_size(end) / max(1.0, self._type_size(start))
        return sources * (ratio if self.bound.is_date(start) else max(1.0, ratio))

    def _type_size(self, var: str) -> float:
        """How many entities the type of a variable has."""
        kind = self.bound.type_of(var).kind
        if kind != "entity":
            return 1.0 if kind == "self" else _DAYS
        count = self._counts.get((self.bound.graph.vars[var], ()))
        return _UNKNOWN_SIZE if count is None else float(count)

    def _bound_size(self, var: str) -> float:
        """How many entities a variable has by what binds it: all of its type where nothing does."""
        fixed, filters = self.bound.fixed.get(var), self.bound.filters(var)
        if fixed is not None:
            intervals = [read_interval(each) for each in fixed] if self.bound.is_date(var) else None
            return 1.0 if intervals is None else sum((each and each.days()) or _DAYS / 2 for each in intervals)
        count = self._counts.get((self.bound.graph.vars[var], filters))
        return self._type_size(var) * (_UNKNOWN_SHARE if filters else 1) if count is None else float(count)
