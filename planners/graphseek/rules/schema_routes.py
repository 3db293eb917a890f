"""Ways between two types over the relationships of a schema, the ones that a question says before others."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planners.graphseek.operators.pattern import Direction
from planners.stores.graph_schema import GraphSchema

__all__ = ["Hop", "Route", "routes_between"]

_MOST_HOPS = 4
"""Of a way: the longest that a question of the paper's leaves unstated is two; each further one is a guess."""
_COSTS = {3: 1.0, 2: 1.25, 1: 2.0, 0: 3.0}
"""Of a hop by how it is said: the whole phrase, its verb, a word such as "in", not at all. Two said hops are before one unstated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One relationship type, followed once, or as often as it leads on (``chained``)."""

    relationship: str
    direction: Direction
    target: str
    chained: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Hops in their order, and what they cost."""

    hops: tuple[Hop, ...]
    cost: float


def routes_between(
    schema: GraphSchema, start: str, end: str, said: Mapping[str, int], only: Sequence[str] = ()
) -> list[Route]:
    """Return the cheapest ways from a type to another one, or back to it, none of which goes through a type twice.

    :param said: name of a relationship → how it is said, from 0 to 3.
    :param only: names of the relationships that may be followed; all where there are none.
    """
    hops = dict(_hops(schema, only))
    front: list[tuple[float, int, str, tuple[Hop, ...]]] = [(0.0, 0, start, ())]
    found: list[Route] = []
    number = 0
    while front:
        cost, _, at, way = heapq.heappop(front)
        if found and cost > found[0].cost:
            break
        if way and at == end:
            found.append(Route(hops=way, cost=cost))
            continue
        if len(way) == _MOST_HOPS:
            continue
        passed = {start, *(hop.target for hop in way)} - {end}
        for hop in hops.get(at, ()):
            if hop.target not in passed:
                number += 1
                heapq.heappush(front, (cost + _COSTS[said.get(hop.relationship, 0)], number, hop.target, (*way, hop)))
    return found


def _hops(schema: GraphSchema, only: Sequence[str]) -> Iterator[tuple[str, list[Hop]]]:
    for node in schema.nodes:
        found = []
        for relationship in schema.relationships:
            if only and relationship.name not in only:
                continue
            pairs = {(end.source, end.target) for end in relationship.ends}
            back = {(b, a) for a, b in pairs}
            ways: list[tuple[Direction, set[tuple[str, str]]]]
            ways = [("both", pairs | back)] if relationship.undirected else [("out", pairs), ("in", back)]
            for direction, steps in ways:
                for source, target in sorted(steps):
                    if source == node.name:
                        found.append(_hop(relationship.name, direction, source, target, steps))
        yield node.name, found


def _hop(name: str, direction: Direction, source: str, target: str, steps: Iterable[tuple[str, str]]) -> Hop:
    """Return a hop; it is chained where the same relationship also leads there by way of other nodes, as a city lies in a county that
    lies in a state."""
    steps = set(steps)
    between = {end for begin, end in steps if begin == source}
    is_chained = source != target and any((middle, target) in steps for middle in between)
    return Hop(relationship=name, direction=direction, target=target, chained=is_chained)
