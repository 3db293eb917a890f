"""Flows that are equal but for their periods and costs, merged into one (listing 3 of the paper).

Two nodes are merged when they have the same type and name, and the same holds for what flows into them and what they flow into, as far
as the graph goes. So two variants of an assembly that differ in one module stay two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeAlias

from planners.graphseek.results.result import GraphPart, ResultEdge, ResultNode
from planners.stores.property_graph import Properties, Value

__all__ = ["MERGED", "flows_into", "merged_flows"]

MERGED = "merged"
Amounts: TypeAlias = Callable[[str], frozenset[str]]
"""Names of the properties of a type, of nodes or relationships, that are summed."""


def flows_into(part: GraphPart, starts: Sequence[str], hops: int, *, along: bool) -> GraphPart:
    """Return the nodes and relationships of a graph on flows of at most so many hops.

    :param starts: ids of the nodes that the flows lead to.
    :param along: whether flows lead along relationships into the starts; else from the starts.
    """
    into: dict[str, list[ResultEdge]] = defaultdict(list)
    for edge in part.edges:
        into[edge.target if along else edge.source].append(edge)
    at, seen, edges = list(starts), set(starts), list[ResultEdge]()
    for _ in range(hops):
        edges += [edge for node in at for edge in into[node]]
        further = dict.fromkeys(edge.source if along else edge.target for node in at for edge in into[node])
        at = [node for node in further if node not in seen]
        seen.update(at)
    return GraphPart(nodes=tuple(each for each in part.nodes if each.id in seen), edges=tuple(edges))


def merged_flows(
    part: GraphPart, starts: Sequence[str], name: Callable[[ResultNode], str], amounts: Amounts
) -> GraphPart:
    """Return a graph with equal flows merged; ``merged`` of nodes and relationships counts them.

    :param starts: ids of nodes that stay apart.
    :param name: of a node.
    """
    groups = _groups(part, {each.id: (each.type, each.id if each.id in starts else name(each)) for each in part.nodes})
    members: dict[int, list[ResultNode]] = defaultdict(list)
    for node in part.nodes:
        members[groups[node.id]].append(node)
    first = {group: nodes[0].id for group, nodes in members.items()}
    nodes = [
        ResultNode(id=of[0].id, type=of[0].type, properties=_merged([n.properties for n in of], amounts(of[0].type)))
        for of in members.values()
    ]
    parallel: dict[tuple[str, str, str], list[ResultEdge]] = defaultdict(list)
    for edge in part.edges:
        parallel[edge.type, first[groups[edge.source]], first[groups[edge.target]]].append(edge)
    edges = [
        ResultEdge(
            type=type_, source=source, target=target, properties=_merged([e.properties for e in of], amounts(type_))
        )
        for (type_, source, target), of in parallel.items()
    ]
    return GraphPart(nodes=tuple(nodes), edges=tuple(edges))


def _groups(part: GraphPart, colours: Mapping[str, Hashable]) -> dict[str, int]:
    """Return the group of each node: colours are refined by those of the neighbours until nothing changes."""
    numbers: dict[Hashable, int] = {}
    groups = {node: numbers.setdefault(colour, len(numbers)) for node, colour in colours.items()}
    while True:
        beside: dict[str, set[tuple[str, str, int]]] = defaultdict(set)
        for edge in part.edges:
            beside[edge.target].add((edge.type, "in", groups[edge.source]))
            beside[edge.source].add((edge.type, "out", groups[edge.target]))
        refined: dict[Hashable, int] = {}
        finer = {
            node: refined.setdefault((group, frozenset(beside[node])), len(refined)) for node, group in groups.items()
        }
        if len(refined) == len(set(groups.values())):
            return groups
        groups = finer


def _merged(of: Sequence[Properties], amounts: frozenset[str]) -> Properties:
    """Return what all have in common; amounts are summed."""
    kept: dict[str, Value] = {}
    for name in dict.fromkeys(name for each in of for name in each):
        values = [each.get(name) for each in of]
        numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        if name in amounts and numbers:
            kept[name] = sum(numbers)
        elif values[0] is not None and all(value == values[0] for value in values):
            kept[name] = values[0]
    return {**kept, MERGED: len(of)}
