"""Estimates of rows from the tools' counts.

A step from n sources gives n times as many rows as there are entities of the target's type for each entity of the source's type,
and at least n.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from planners.dfs.execution.bound_graph import BoundGraph
from planners.dfs.execution.day_intervals import read_interval
from planners.dfs.execution.search_tree import Branch, Own, SearchTree, Task
from planners.query.query_graph import FilterConstraint

__all__ = ["Counts", "Estimate", "RowEstimates"]

Counts: TypeAlias = Mapping[tuple[str, tuple[FilterConstraint, ...]], int | None]
"""(type, filters) → what the resolver counts."""

_UNKNOWN_SIZE = 1_000.0  # entities of a type that nobody counts
_UNKNOWN_SHARE = 0.1  # of them that meet filters that nobody counts
_DAYS = 1_000.0  # days that data are spread over, about three years


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rows to fetch, and the size of the set that they give."""

    rows: float
    size: float


class RowEstimates:
    """Estimates for the branches of one graph."""

    def __init__(self, bound: BoundGraph, tree: SearchTree, counts: Counts) -> None:
        self._bound, self._tree, self._counts = bound, tree, counts

    def type_size(self, var: str) -> float:
        """How many entities the type of a variable has."""
        kind = self._bound.type_of(var).kind
        if kind != "entity":
            return 1.0 if kind == "self" else _DAYS
        count = self._counts.get((self._bound.graph.vars[var], ()))
        return _UNKNOWN_SIZE if count is None else float(count)

    def bound_size(self, var: str) -> float:
        """How many entities a variable has by what binds it: all of its type where nothing does."""
        if var in self._bound.fixed:
            intervals = [read_interval(each) for each in self._bound.fixed[var]] if self._bound.is_date(var) else []
            days = [(each and each.days()) or _DAYS / 2 for each in intervals]
            return sum(days) if self._bound.is_date(var) else 1.0
        filters = self._bound.filters(var)
        count = self._counts.get((self._bound.graph.vars[var], filters))
        return (self.type_size(var) * (_UNKNOWN_SHARE if filters else 1)) if count is None else float(count)

    def step_rows(self, start: str, end: str, sources: float) -> float:
        """Rows of a step along an edge from so many candidates of one variable to another."""
        if self._bound.is_date(end):
            return sources
        ratio = self.type_size(end) / max(1.0, self.type_size(start))
        return sources * (ratio if self._bound.is_date(start) else max(1.0, ratio))

    def alone(self, task: Task, drivers: Collection[str]) -> Estimate:
        """Resolving a task by itself, from the drivers in its branch; infinite where there are none."""
        if isinstance(task, Own):
            if task.var not in drivers:
                return Estimate(inf, inf)
            size = self.bound_size(task.var)
            return Estimate(0.0 if task.var in self._bound.fixed else size, size)
        best = min((self.alone(each, drivers) for each in self._tasks(task.child)), key=lambda each: each.rows)
        if best.rows == inf:
            return best
        rows = self.step_rows(task.child, task.parent, best.size)
        return Estimate(best.rows + rows, min(rows, self.type_size(task.parent)))

    def from_candidates(self, task: Task, size: float, drivers: Collection[str]) -> float:
        """Rows of a task from so many candidates of its variable: down a branch and everything beyond."""
        if isinstance(task, Own):
            return 0.0 if task.var in self._bound.fixed else self.bound_size(task.var)
        rows = self.step_rows(task.parent, task.child, size)
        reached = min(rows, self.type_size(task.child))
        beyond = [each for each in self._tasks(task.child) if isinstance(each, Branch) or each.var in drivers]
        return rows + sum(
            min(self.alone(each, drivers).rows, self.from_candidates(each, reached, drivers)) for each in beyond
        )

    def _tasks(self, var: str) -> tuple[Task, ...]:
        return (Own(var), *self._tree.branches[var])
