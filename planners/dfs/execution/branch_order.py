"""The order of branches: the paper's, and the most selective first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from planners.dfs.execution.bound_graph import BoundGraph
from planners.dfs.execution.metered_resolver import MeteredResolver
from planners.dfs.execution.row_estimates import RowEstimates
from planners.dfs.execution.search_tree import Own, SearchTree, Task
from planners.dfs.execution.together import together
from planners.query.query_graph import EdgeConstraint

__all__ = ["BranchOrder", "PaperOrder", "SelectiveOrder", "selective_order"]


class BranchOrder(Protocol):
    """Chooses among the tasks of one variable.

    :param drivers: variables that have candidates of their own to start from.
    """

    drivers: set[str]

    def tasks(self, var: str) -> list[Task]:
        """All tasks of a variable."""
        ...

    def first(self, able: Sequence[Task]) -> Sequence[Task]:
        """Of the tasks that can give a variable its first set, those to resolve at once."""
        ...

    def then(self, size: int, tasks: Sequence[Task], able: Sequence[Task]) -> tuple[Sequence[Task], bool]:
        """Of the remaining tasks of a variable with so many candidates, those to apply now, and whether by themselves or from these."""
        ...

    def closing_start(self, edge: EdgeConstraint, sizes: Mapping[str, int]) -> str:
        """The variable from which an edge between two candidate sets is checked."""
        ...


class PaperOrder:
    """Neighbours as listed, each branch from its leaves, then the variable's filters (Algorithm 1).

    A leaf without filter is listed. In the paper's log it is the word "all", for which its tools answer with the whole edge; ours take
    identifiers. Only dates cannot be listed.
    """

    def __init__(self, bound: BoundGraph, tree: SearchTree) -> None:
        self._tree = tree
        entities = [var for var in tree.below[tree.root] if bound.type_of(var).kind == "entity"]
        own = [var for var in tree.below[tree.root] if bound.is_bound(var)]
        leaves = [var for var in tree.below[tree.root] if not tree.branches[var] and (var in own or var in entities)]
        self.drivers = set(leaves or own or entities[:1]) - set(bound.unread)
        self._own = self.drivers.union(own)

    def tasks(self, var: str) -> list[Task]:
        """Branches, then what binds the variable."""
        return [*self._tree.branches[var], *([Own(var)] if var in self._own else [])]

    def first(self, able: Sequence[Task]) -> Sequence[Task]:
        """All."""
        return able

    def then(self, size: int, tasks: Sequence[Task], able: Sequence[Task]) -> tuple[Sequence[Task], bool]:
        """The first, by itself where it can."""
        return tasks[:1], tasks[0] in able

    def closing_start(self, edge: EdgeConstraint, sizes: Mapping[str, int]) -> str:
        """The one with fewer candidates: the algorithm says nothing of these edges."""
        return min(sizes, key=sizes.__getitem__)


class SelectiveOrder:
    """The task with the fewest rows first; a further one by itself or from the candidates, whichever fetches fewer."""

    def __init__(self, bound: BoundGraph, tree: SearchTree, drivers: set[str], estimates: RowEstimates) -> None:
        self._bound, self._tree, self._estimates = bound, tree, estimates
        self.drivers = drivers

    def tasks(self, var: str) -> list[Task]:
        """What binds the variable, then its branches."""
        own = [Own(var)] if self._bound.is_bound(var) or var in self.drivers else []
        return [*own, *self._tree.branches[var]]

    def first(self, able: Sequence[Task]) -> Sequence[Task]:
        """The best, and with it those that fetch no more rows by themselves than from its result."""
        own = [self._estimates.alone(task, self.drivers) for task in able]
        best = min(range(len(able)), key=lambda at: own[at].rows)
        size = own[best].size
        return [task for at, task in enumerate(able) if at == best or self._better_alone(task, size)]

    def then(self, size: int, tasks: Sequence[Task], able: Sequence[Task]) -> tuple[Sequence[Task], bool]:
        """What fetches the fewest rows; where that is a branch by itself, with it those as in :meth:`first`."""
        sideways = {task: self._estimates.from_candidates(task, size, self.drivers) for task in tasks}
        next_one = min(tasks, key=lambda task: sideways[task])
        alone = {task: self._estimates.alone(task, self.drivers) for task in able if self._better_alone(task, size)}
        best = min(alone, key=lambda task: alone[task].rows, default=None)
        if best is None or sideways[next_one] < alone[best].rows:
            return [next_one], False
        left = min(size, alone[best].size)
        return [task for task in alone if task is best or self._better_alone(task, left)], True

    def _better_alone(self, task: Task, size: float) -> bool:
        if isinstance(task, Own):  # the same call, which may prove needless
            return False
        sideways = self._estimates.from_candidates(task, size, self.drivers)
        return self._estimates.alone(task, self.drivers).rows <= sideways

    def closing_start(self, edge: EdgeConstraint, sizes: Mapping[str, int]) -> str:
        """The one from which fewer rows come."""
        rows = {
            start: self._estimates.step_rows(start, end, sizes[start])
            for start, end in ((edge.source, edge.target), (edge.target, edge.source))
        }
        return min(rows, key=rows.__getitem__)


async def selective_order(bound: BoundGraph, tree: SearchTree, calls: MeteredResolver) -> SelectiveOrder:
    """Choose what to start from, and ask for counts where there is a choice.

    Where nothing is bound, the type with the fewest entities is listed.
    """
    kinds = {var: bound.graph.vars[var] for var in tree.below[tree.root] if bound.type_of(var).kind == "entity"}
    drivers = {var for var in tree.below[tree.root] if bound.is_bound(var)}
    asked = {(kind, ()) for kind in kinds.values()} | {
        (kinds[var], bound.filters(var)) for var in drivers & kinds.keys()
    }
    ordered = sorted(asked, key=repr) if len(drivers or kinds) > 1 or tree.closing else []
    counts = await together([calls.count(kind, filters) for kind, filters in ordered])
    estimates = RowEstimates(bound, tree, dict(zip(ordered, counts, strict=True)))
    if not drivers and not bound.unread and kinds:
        drivers = {min(kinds, key=estimates.bound_size)}
    return SelectiveOrder(bound, tree, drivers, estimates)
