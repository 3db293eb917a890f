"""The second pass: each candidate set is left with what is part of at least one complete answer, and with nothing else.

Arc consistency does that on a tree. Where edges close a cycle, or two variables stand for different entities of one type, the variables
in question are searched for a complete answer (a witness) with each candidate. What hangs on them as a tree needs no search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from planners.query.query_graph import EdgeConstraint

__all__ = ["Pairs", "Witnesses", "Work"]

Pairs: TypeAlias = Mapping[str, set[str]]
"""Entity → the entities at the other end of an edge; only entities that have any."""


@dataclass
class Work:
    """What the pass may still do: candidates to look at, until a time of ``time.perf_counter``; another thread may set ``stopped``."""

    steps: int
    deadline: float = math.inf
    stopped: bool = False

    def spend(self, steps: int) -> bool:
        """Take steps from the budget; False where it is used up, or late."""
        self.steps -= steps
        if self.steps < 0 or time.perf_counter() >= self.deadline:
            self.stopped = True
        return not self.stopped


class Witnesses:
    """The pass, for sets that shrink. All edges between two variables are one link.

    :param pairs: edge → the variable from which it was followed, and its pairs.
    :param different: pairs of variables that stand for different entities.
    :param work: of all calls together; where it is stopped, what was not decided is kept.
    """

    def __init__(
        self,
        pairs: Mapping[EdgeConstraint, tuple[str, Pairs]],
        different: Collection[tuple[str, str]],
        work: Work,
    ) -> None:
        self._different, self._work = different, work
        self._links: dict[tuple[str, str], Pairs] = {}
        self._near: dict[str, list[str]] = {}
        self._sorted: dict[tuple[str, str, str], list[str]] = {}
        for edge, (start, there) in pairs.items():
            end = edge.target if start == edge.source else edge.source
            if (end, start) in self._links:
                start, end, there = end, start, _turned(there)
            known = self._links.get((start, end))
            if known is None:
                self._near.setdefault(start, []).append(end)
                self._near.setdefault(end, []).append(start)
            else:
                both = {each: known[each] & there[each] for each in known.keys() & there.keys()}
                there = {each: ids for each, ids in both.items() if ids}
            self._links[start, end] = there

    def _pairs(self, var: str, other: str) -> Pairs:
        """The pairs from the candidates of a variable, turned when they are first needed."""
        if (var, other) not in self._links:
            self._links[var, other] = _turned(self._links[other, var])
        return self._links[var, other]

    def prune(self, sets: dict[str, set[str]]) -> None:
        """Leave in each set what is part of a complete answer."""
        if not self._consistent(sets):
            return
        apart: dict[str, set[str]] = {}
        for one, two in self._different:
            if not sets[one].isdisjoint(sets[two]):
                apart.setdefault(one, set()).add(two)
                apart.setdefault(two, set()).add(one)
        core = self._core(sets, apart)
        if core:
            self._sorted.clear()
            sets.update(self._proven(sets, core, apart))
            self._consistent(sets)

    def _consistent(self, sets: dict[str, set[str]]) -> bool:
        """Remove from each set, until nothing changes, the candidates that have no partner along a link (AC-3, Mackworth 1977), and those
        that are the only candidate of a variable which stands for another entity. Where one set is left empty, so are all: False.

        Time is linear in the pairs, times the number of rounds: on a tree at most its depth.
        """
        changed = set(sets)

        def keep(var: str, ids: set[str]) -> None:
            if len(ids) < len(sets[var]):
                sets[var] = ids
                changed.add(var)

        while changed and self._work.spend(0):
            var = min(changed)
            changed.remove(var)
            for other in self._near.get(var, ()):
                mine, others, pairs = sets[var], sets[other], self._links.get((var, other))
                if pairs is not None:
                    keep(other, others.intersection(chain.from_iterable(pairs[one] for one in mine if one in pairs)))
                else:
                    back = self._links[other, var]
                    keep(other, {each for each in others if each in back and not mine.isdisjoint(back[each])})
            for one, two in self._different:
                if var in (one, two) and len(sets[var]) == 1:
                    other = two if var == one else one
                    keep(other, sets[other] - sets[var])
        if all(sets.values()):
            return True
        sets.update({var: set() for var in sets})
        return False

    def _core(self, sets: Mapping[str, set[str]], apart: Mapping[str, set[str]]) -> tuple[str, ...]:
        """The variables that are left when those that hang on one other, and need not differ from any, are taken away."""
        left = dict.fromkeys(sorted(sets))
        while True:
            hanging = (
                var for var in left if var not in apart and sum(other in left for other in self._near.get(var, ())) <= 1
            )
            end = next(hanging, None)
            if end is None:
                return tuple(left)
            del left[end]

    def _proven(
        self, sets: Mapping[str, set[str]], core: tuple[str, ...], apart: Mapping[str, set[str]]
    ) -> dict[str, set[str]]:
        """Variable → candidates with a witness, or of which the bound left it open.

        Backtracking over the core, the variable with the shortest list of partners next. Each candidate looked at is a step.
        """

        def beside(var: str, other: str, value: str) -> list[str]:
            # Sorted once, since a search comes here often.
            found = self._sorted.get((var, other, value))
            if found is None:
                found = self._sorted[var, other, value] = sorted(sets[var] & self._pairs(other, var)[value])
                self._work.spend(len(found))
            return found

        def fitting(var: str, chosen: Mapping[str, str]) -> Iterator[str]:
            joined = [other for other in self._near[var] if other in chosen]
            near = [self._pairs(other, var)[chosen[other]] for other in joined]
            taken = {chosen[each] for each in apart.get(var, ()) if each in chosen}
            for value in min((beside(var, other, chosen[other]) for other in joined), key=len):
                if not self._work.spend(1):
                    return
                if value not in taken and all(value in ids for ids in near):
                    yield value

        def shortest(var: str, chosen: Mapping[str, str]) -> float:
            joined = (other for other in self._near[var] if other in chosen)
            return min((len(beside(var, other, chosen[other])) for other in joined), default=math.inf)

        def complete(chosen: dict[str, str]) -> bool:
            """Extend a choice to the whole core, in place; False where that cannot be done or the work is used up."""
            if len(chosen) == len(core):
                return True
            if not self._work.spend(len(core)):
                return False
            var = min((each for each in core if each not in chosen), key=lambda each: shortest(each, chosen))
            for value in fitting(var, chosen):
                chosen[var] = value
                if complete(chosen):
                    return True
                del chosen[var]
            return False

        proven: dict[str, set[str]] = {var: set() for var in core}
        for var in core:
            for value in sorted(sets[var]):
                chosen = {var: value}
                if value in proven[var]:
                    continue
                if complete(chosen):
                    for each, one in chosen.items():
                        proven[each].add(one)
                elif self._work.stopped:
                    proven[var].add(value)
        return proven


def _turned(pairs: Pairs) -> Pairs:
    back: dict[str, set[str]] = {}
    for one, others in pairs.items():
        for each in others:
            back.setdefault(each, set()).add(one)
    return back
