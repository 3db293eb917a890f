"""The second pass: each candidate set is left with what is part of at least one complete answer, and with nothing else.

Arc consistency does that on a tree. Where edges close a cycle, or two variables stand for different entities of one type, the variables
in question are searched for a complete answer (a witness) with each candidate. What hangs on them as a tree needs no search.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from planners.dfs.execution.arc_consistency import Link, make_consistent
from planners.dfs.execution.work import Work

__all__ = ["Witnesses"]


@dataclass
class Witnesses:
    """The pass, for sets that shrink.

    :param different: pairs of variables that stand for different entities.
    :param work: of all calls together; where it ends, ``exact`` turns False and what was not decided is kept.
    """

    links: Sequence[Link]
    different: Collection[tuple[str, str]]
    work: Work
    _near: dict[str, list[Link]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for link in self.links:
            for var in (link.first, link.second):
                self._near.setdefault(var, []).append(link)

    @property
    def exact(self) -> bool:
        """Whether everything was decided."""
        return not self.work.stopped

    def prune(self, sets: dict[str, set[str]]) -> None:
        """Leave in each set what is part of a complete answer."""
        if not self._consistent(sets):
            return
        apart = [(one, two) for one, two in self.different if not sets[one].isdisjoint(sets[two])]
        core = self._core(sets, apart)
        if core:
            sets.update(_Search(sets, core, self._near, _partners(apart), self.work).proven())
            self._consistent(sets)

    def _consistent(self, sets: dict[str, set[str]]) -> bool:
        """Make the sets consistent; where one is left empty, so are all, and that is False."""
        make_consistent(sets, self.links, self.different, lambda: self.work.spend(0))
        if all(sets.values()):
            return True
        sets.update({var: set() for var in sets})
        return False

    def _core(self, sets: Mapping[str, set[str]], apart: Collection[tuple[str, str]]) -> tuple[str, ...]:
        """The variables that are left when those that hang on one other, and need not differ from any, are taken away."""
        left = dict.fromkeys(sorted(sets))
        bound = {var for pair in apart for var in pair}
        while True:
            ends = [
                var
                for var in left
                if var not in bound and sum(link.other(var) in left for link in self._near.get(var, ())) <= 1
            ]
            if not ends:
                return tuple(left)
            del left[ends[0]]


@dataclass
class _Search:
    """Backtracking over the core, the variable with the shortest list of partners next. Each candidate looked at is a step."""

    sets: Mapping[str, set[str]]
    core: tuple[str, ...]
    near: Mapping[str, list[Link]]
    apart: Mapping[str, set[str]]
    work: Work
    _sorted: dict[tuple[str, str, str], list[str]] = field(default_factory=dict, init=False)

    def proven(self) -> dict[str, set[str]]:
        """Variable → candidates with a witness, or of which the bound left it open."""
        proven: dict[str, set[str]] = {var: set() for var in self.core}
        for var in self.core:
            for value in sorted(self.sets[var]):
                if value in proven[var]:
                    continue
                chosen = {var: value}
                found = self._complete(chosen)
                if found:
                    for each, one in chosen.items():
                        proven[each].add(one)
                elif self.work.stopped:
                    proven[var].add(value)
        return proven

    def _complete(self, chosen: dict[str, str]) -> bool:
        """Extend a choice to the whole core, in place; False where that cannot be done or the work is used up."""
        if len(chosen) == len(self.core):
            return True
        if not self.work.spend(len(self.core)):
            return False
        lists = ((each, self._shortest(each, chosen)) for each in self.core if each not in chosen)
        var, values = min(((each, found) for each, found in lists if found is not None), key=lambda pair: len(pair[1]))
        for value in self._fitting(var, values, chosen):
            chosen[var] = value
            if self._complete(chosen):
                return True
            del chosen[var]
        return False

    def _shortest(self, var: str, chosen: Mapping[str, str]) -> list[str] | None:
        """The candidates of a variable beside one that is chosen, of which there are fewest; None where no link joins it to any."""
        joined = ((link, link.other(var)) for link in self.near[var])
        lists = [self._beside(var, link, other, chosen[other]) for link, other in joined if other in chosen]
        return min(lists, key=len, default=None)

    def _beside(self, var: str, link: Link, other: str, value: str) -> list[str]:
        """The candidates of a variable beside one of another, in order: sorted once, since a search comes here often."""
        found = self._sorted.get((var, other, value))
        if found is None:
            found = self._sorted[var, other, value] = sorted(self.sets[var] & link.ends(other)[value])
            self.work.spend(len(found))
        return found

    def _fitting(self, var: str, values: list[str], chosen: Mapping[str, str]) -> Iterator[str]:
        joined = ((link, link.other(var)) for link in self.near[var])
        near = [link.ends(other)[chosen[other]] for link, other in joined if other in chosen]
        taken = {chosen[each] for each in self.apart.get(var, ()) if each in chosen}
        for value in values:
            if not self.work.spend(1):
                return
            if value not in taken and all(value in ids for ids in near):
                yield value


def _partners(apart: Collection[tuple[str, str]]) -> dict[str, set[str]]:
    partners: dict[str, set[str]] = {}
    for one, two in apart:
        partners.setdefault(one, set()).add(two)
        partners.setdefault(two, set()).add(one)
    return partners
