"""The state of a graph in canonical order: isomorphic graphs in different engines give equal states.

Nodes are ordered by label, then properties, then by what surrounds them (Weisfeiler-Leman refinement). Nodes that are
still alike are told apart by individualisation: one is singled out, its surroundings are refined anew, and of all choices
the one with the least edge list is taken. Parts that only touch nodes already told apart are ordered each for itself, so
hundreds of equal nodes cost no more than others. The search has a budget; what is left after it (regular graphs of equal
nodes) is ordered by the keys of the engine, which is right where the nodes left are interchangeable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planners.stores.node_order import LabelledGraph, canonical_order
from planners.stores.property_graph import GraphEdge, GraphNode, GraphState, Properties
from planners.stores.property_rows import EdgeRow, NodeRow, PropertyRows
from planners.stores.property_values import value_key

__all__ = ["canonical_state", "state_of_rows", "state_rows"]


def state_of_rows(rows: PropertyRows) -> GraphState:
    """Return the state of a graph."""
    return canonical_state(rows.nodes, rows.edges.values())


def canonical_state(nodes: Mapping[int, NodeRow], edges: Iterable[EdgeRow]) -> GraphState:
    """Return a graph in canonical order.

    :param nodes: key → node; keys mean nothing but which node an edge joins.
    :param edges: between these nodes.
    """
    edges = list(edges)
    colours = _ranks({key: (row.label, _properties_key(row.properties)) for key, row in nodes.items()})
    edge_keys = {at: (edge.type, _properties_key(edge.properties)) for at, edge in enumerate(edges)}
    edge_colours = _ranks(edge_keys)
    graph = LabelledGraph(list(nodes), [(edge.source, edge.target, edge_colours[at]) for at, edge in enumerate(edges)])
    place = {key: at for at, key in enumerate(canonical_order(graph, colours))}
    found = sorted((place[edge.source], edge_colours[at], place[edge.target], at) for at, edge in enumerate(edges))
    return GraphState(
        nodes=tuple(
            GraphNode(id=f"n{at + 1}", label=nodes[key].label, properties=_sorted(nodes[key].properties))
            for key, at in sorted(place.items(), key=lambda item: item[1])
        ),
        edges=tuple(
            GraphEdge(
                type=edges[at].type,
                source=f"n{source + 1}",
                target=f"n{target + 1}",
                properties=_sorted(edges[at].properties),
            )
            for source, _, target, at in found
        ),
    )


def state_rows(state: GraphState) -> PropertyRows:
    """Return a state as rows; keys follow the order of the state."""
    rows = PropertyRows()
    keys = {node.id: rows.add_node(NodeRow(label=node.label, properties=node.properties)) for node in state.nodes}
    for edge in state.edges:
        source, target = keys[edge.source], keys[edge.target]
        rows.add_edge(EdgeRow(type=edge.type, source=source, target=target, properties=edge.properties))
    return rows


def _sorted(properties: Properties) -> Properties:
    return dict(sorted(properties.items()))


def _properties_key(properties: Properties) -> tuple[object, ...]:
    return tuple((name, value_key(value)) for name, value in sorted(properties.items()))


def _ranks(keys: Mapping[int, tuple[object, ...]]) -> dict[int, int]:
    """Return the rank of each key; equal keys have equal ranks."""
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys.values())))}
    return {at: ranks[key] for at, key in keys.items()}
