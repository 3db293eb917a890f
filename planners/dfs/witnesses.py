"""The second pass: each candidate set is left with what is part of at least one complete answer, and with nothing else.

Arc consistency does that on a tree. Where edges close a cycle, or two variables stand for different entities of one type, the variables
in question are searched for a complete answer (a witness) with each candidate. What hangs on them as a tree needs no search.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from planners.query.query_graph import EdgeConstraint

# Entity → the entities at the other end of an edge; only entities that have any
Pairs: TypeAlias = Mapping[str, set[str]]
_Sets: TypeAlias = dict[str, set[str]]


@dataclass
class Work:
    """What the pass may still do: candidates to look at; another thread may set ``stopped``."""

    steps: int
    stopped: bool = False

    def spend(self, steps: int) -> bool:
        """Take steps from the budget; False where it is used up."""
        self.steps -= steps
        if self.steps < 0:
            self.stopped = True
        return not self.stopped


class Witnesses:
    """The pass, for sets that shrink. All edges between two variables are one link. ``pairs`` have for each edge the
    variable from which it was followed, and its pairs; ``different`` are pairs of variables that stand for different
    entities. ``work`` is that of all calls together; where it is stopped, what was not decided is kept."""

    def __init__(
        self, pairs: Mapping[EdgeConstraint, tuple[str, Pairs]], different: Collection[tuple[str, str]], work: Work
    ) -> None:
        self._different, self._work = different, work
        self._links: defaultdict[str, dict[str, Pairs]] = defaultdict(dict)
        for edge, (start, there) in pairs.items():
            end = edge.target if start == edge.source else edge.source
            back: defaultdict[str, set[str]] = defaultdict(set)
            for each, others in there.items():
                for other in others:
                    back[other].add(each)
            for one, two, found in ((start, end, there), (end, start, dict(back))):
                known = self._links[one].get(two, found)
                both = ((each, known[each] & found[each]) for each in known.keys() & found.keys())
                self._links[one][two] = found if known is found else {each: ids for each, ids in both if ids}

    def prune(self, sets: _Sets) -> None:
        """Leave in each set what is part of a complete answer."""
        if not self._consistent(sets):
            return
        apart: defaultdict[str, set[str]] = defaultdict(set)
        for one, two in self._different:
            if not sets[one].isdisjoint(sets[two]):
                apart[one].add(two)
                apart[two].add(one)
        core = dict.fromkeys(sorted(sets))  # without variables that hang on one other, and need not differ from any
        while hanging := [var for var in core if var not in apart and len(core.keys() & self._links[var].keys()) <= 1]:
            del core[hanging[0]]
        if core:
            sets.update(self._proven(sets, tuple(core), apart))
            self._consistent(sets)

    def _consistent(self, sets: _Sets) -> bool:
        """Remove from each set, until nothing changes, the candidates that have no partner along a link (AC-3,
        Mackworth 1977), and those that are the only candidate of a variable which stands for another entity. Where one
        set is left empty, so are all: False."""
        changed = set(sets)
        while changed and self._work.spend(0):
            var = min(changed)
            changed.remove(var)
            kept = {
                other: sets[other].intersection(chain.from_iterable(pairs[one] for one in sets[var] if one in pairs))
                for other, pairs in self._links[var].items()
            }
            for pair in self._different if len(sets[var]) == 1 else ():
                if var in pair:
                    other = pair[pair[0] == var]
                    kept[other] = kept.get(other, sets[other]) - sets[var]
            for other, ids in kept.items():
                if len(ids) < len(sets[other]):
                    sets[other] = ids
                    changed.add(other)
        if all(sets.values()):
            return True
        sets.update({var: set() for var in sets})
        return False

    def _proven(self, sets: _Sets, core: tuple[str, ...], apart: Mapping[str, set[str]]) -> _Sets:
        """Variable → candidates with a witness, or of which the bound left it open. Backtracking over the core, the
        variable with the fewest partners next. Each candidate looked at is a step."""

        def partners(var: str, chosen: Mapping[str, str]) -> list[set[str]]:
            near = [self._links[other][var][chosen[other]] for other in self._links[var] if other in chosen]
            return sorted(near, key=len)

        def fitting(var: str, chosen: Mapping[str, str]) -> Iterator[str]:
            first, *others = partners(var, chosen)
            taken = {chosen[each] for each in apart.get(var, ()) if each in chosen}
            self._work.spend(len(first))
            for value in sorted(first & sets[var]):
                if not self._work.spend(1):
                    return
                if value not in taken and all(value in ids for ids in others):
                    yield value

        def fewest(var: str, chosen: Mapping[str, str]) -> float:
            return min(map(len, partners(var, chosen)), default=math.inf)

        def complete(chosen: dict[str, str]) -> bool:
            """Extend a choice to the whole core, in place; False where that cannot be done or the work is used up."""
            if len(chosen) == len(core):
                return True
            if not self._work.spend(len(core)):
                return False
            var = min((each for each in core if each not in chosen), key=lambda each: fewest(each, chosen))
            for value in fitting(var, chosen):
                chosen[var] = value
                if complete(chosen):
                    return True
                del chosen[var]
            return False

        proven: _Sets = {var: set() for var in core}
        for var in core:
            for value in sorted(sets[var]):
                if value in proven[var]:
                    continue
                chosen = {var: value}
                if complete(chosen):
                    for each, one in chosen.items():
                        proven[each].add(one)
                elif self._work.stopped:
                    proven[var].add(value)
        return proven
