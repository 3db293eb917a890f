"""Candidate sets in which each candidate has a partner along every edge."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from planners.dfs.execution.candidate_sets import Pairs
from planners.query.query_graph import EdgeConstraint

__all__ = ["Link", "links_of", "make_consistent"]


@dataclass(frozen=True)
class Link:
    """All edges between two variables, as one: the pairs that each of them has, from the candidates of ``first``."""

    first: str
    second: str
    pairs: Pairs

    @cached_property
    def back(self) -> Pairs:
        """The pairs from the candidates of ``second``."""
        return _turned(self.pairs)

    def ends(self, var: str) -> Pairs:
        """Candidates of one of its variables → their partners."""
        return self.pairs if var == self.first else self.back

    def other(self, var: str) -> str:
        """Its other variable."""
        return self.second if var == self.first else self.first


def links_of(pairs: Mapping[EdgeConstraint, tuple[str, Pairs]]) -> list[Link]:
    """Return one link for each two variables that edges join."""
    links: dict[frozenset[str], Link] = {}
    for edge, (start, there) in pairs.items():
        ends = frozenset({edge.source, edge.target})
        known = links.get(ends)
        if known is None:
            links[ends] = Link(start, edge.target if start == edge.source else edge.source, there)
            continue
        other = there if known.first == start else _turned(there)
        both = {each: known.pairs[each] & other[each] for each in known.pairs.keys() & other.keys()}
        links[ends] = Link(known.first, known.second, {each: ids for each, ids in both.items() if ids})
    return list(links.values())


def make_consistent(
    sets: dict[str, set[str]],
    links: Collection[Link],
    different: Collection[tuple[str, str]] = (),
    goes_on: Callable[[], bool] = lambda: True,
) -> None:
    """Remove from each set, until nothing changes, the candidates that have no partner along a link (AC-3, Mackworth 1977), and those
    that are the only candidate of a variable which stands for another entity.

    On a tree without ``different`` each candidate left is part of a complete answer. Time is linear in the pairs, times the number of
    rounds: on a tree at most its depth.

    :param different: pairs of variables that stand for different entities.
    :param goes_on: False ends it before its time, with candidates left that it would have removed.
    """
    changed = set(sets)
    while changed and goes_on():
        var = min(changed)
        changed.remove(var)
        for link in links:
            if var in (link.first, link.second):
                other = link.other(var)
                _keep(sets, other, _partners(sets, link, var), changed)
        for one, two in different:
            if var in (one, two) and len(sets[var]) == 1:
                other = two if var == one else one
                _keep(sets, other, sets[other] - sets[var], changed)


def _partners(sets: Mapping[str, set[str]], link: Link, var: str) -> set[str]:
    """The candidates at the other end of a link that have a partner among those of a variable."""
    mine, others, pairs = sets[var], sets[link.other(var)], link.pairs
    if var == link.first:
        return others.intersection(chain.from_iterable(pairs[each] for each in mine if each in pairs))
    return {each for each in others if each in pairs and not mine.isdisjoint(pairs[each])}


def _keep(sets: dict[str, set[str]], var: str, ids: set[str], changed: set[str]) -> None:
    if len(ids) < len(sets[var]):
        sets[var] = ids
        changed.add(var)


def _turned(pairs: Pairs) -> Pairs:
    back: dict[str, set[str]] = {}
    for one, others in pairs.items():
        for each in others:
            back.setdefault(each, set()).add(one)
    return back
