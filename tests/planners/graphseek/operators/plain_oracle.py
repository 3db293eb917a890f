"""What operators of graph data should give, computed over lists and dictionaries, one thing after another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import networkx as nx

from tests.planners.graphseek.operators.random_graph import RandomGraph

Filter = Mapping[str, Any]
Trail = tuple[str, str, tuple[int, ...]]
TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda have, want: have == want,
    "!=": lambda have, want: have != want,
    "<": lambda have, want: have < want,
    "<=": lambda have, want: have <= want,
    ">": lambda have, want: have > want,
    ">=": lambda have, want: have >= want,
    "contains": lambda have, want: want.lower() in have.lower(),
    "starts_with": lambda have, want: have.lower().startswith(want.lower()),
    "ends_with": lambda have, want: have.lower().endswith(want.lower()),
    "in": lambda have, want: have in want,
}


def holds(properties: Mapping[str, Any], filters: Iterable[Filter]) -> bool:
    """Whether properties satisfy filters; what has no value satisfies is_null alone."""
    for each in filters:
        have = properties.get(each["key"])
        if each["operator"] in ("is_null", "is_not_null"):
            if (have is None) != (each["operator"] == "is_null"):
                return False
        elif have is None or not TESTS[each["operator"]](have, each["value"]):
            return False
    return True


class Oracle:
    """Answers about one graph; nodes are keys."""

    def __init__(self, graph: RandomGraph) -> None:
        self.graph = graph

    def select(self, type_: str, filters: Sequence[Filter] = ()) -> set[str]:
        """Nodes of a type that satisfy filters."""
        return {k for k, of in self.graph.types.items() if of == type_ and holds(self.graph.properties[k], filters)}

    def steps(self, reach: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
        """Pairs of nodes that an edge leads from and to, and the number of the edge."""
        for at, edge in enumerate(self.graph.edges):
            if reach.get("relationship_types") and edge.type not in reach["relationship_types"]:
                continue
            if not holds(edge.properties, reach.get("relationship_filters", ())):
                continue
            if reach.get("direction", "out") != "in":
                yield edge.source, edge.target, at
            if reach.get("direction", "out") != "out" and not (
                edge.source == edge.target and reach["direction"] == "both"
            ):
                yield edge.target, edge.source, at

    def pairs(self, starts: Iterable[str], reach: Mapping[str, Any], hops: int) -> dict[tuple[str, str], int]:
        """Pairs of a start and another node within so many hops, with the least number of them."""
        directed: nx.DiGraph[str] = nx.DiGraph()
        directed.add_nodes_from(self.graph.types)
        directed.add_edges_from((source, target) for source, target, _ in self.steps(reach))
        found = {}
        for start in starts:
            for end, length in nx.single_source_shortest_path_length(directed, start, cutoff=hops).items():
                if end != start:
                    found[start, end] = length
        return found

    def reached(self, starts: Iterable[str], reach: Mapping[str, Any], hops: int) -> dict[str, int]:
        """Nodes within so many hops of others, with the least number of them."""
        found: dict[str, int] = {}
        for (_, end), length in self.pairs(starts, reach, hops).items():
            found[end] = min(length, found.get(end, length))
        return found

    def trails(self, starts: Iterable[str], ends: set[str], reach: Mapping[str, Any], hops: int) -> list[Trail]:
        """Ways that pass no edge twice: where they start and end, and the numbers of their edges."""
        beside: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for source, target, at in self.steps(reach):
            beside[source].append((target, at))
        found: list[Trail] = []

        def go(start: str, node: str, edges: tuple[int, ...]) -> None:
            if edges and node in ends and node != start:
                found.append((start, node, edges))
            if len(edges) < hops:
                for target, at in beside[node]:
                    if at not in edges:
                        go(start, target, (*edges, at))

        for start in starts:
            go(start, start, ())
        return found

    def shortest(self, starts: Iterable[str], ends: set[str], reach: Mapping[str, Any], hops: int) -> list[Trail]:
        """Those of the trails that are the shortest between their ends."""
        trails = self.trails(starts, ends, reach, hops)
        least = self.pairs({start for start, _, _ in trails}, reach, hops)
        return [each for each in trails if len(each[2]) == least[each[0], each[1]]]


def aggregated(values: Sequence[Any], kind: str) -> Any:
    """One aggregation of the values that are there."""
    have = [value for value in values if value is not None]
    if kind == "COUNT":
        return len(have)
    if kind == "COUNT_DISTINCT":
        return len(set(have))
    if not have:
        return None
    of: Mapping[str, Callable[[list[Any]], Any]] = {
        "SUM": sum,
        "MIN": min,
        "MAX": max,
        "AVG": lambda values: sum(values) / len(values),
    }
    return of[kind](have)
