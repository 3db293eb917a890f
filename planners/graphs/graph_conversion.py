"""Graphs from one store into another: every node, edge, property and type goes through the state."""

from __future__ import annotations

from planners.graphs.property_graph import GraphState, PropertyGraph, ReplaceGraph

__all__ = ["copy_graph"]


async def copy_graph(source: PropertyGraph, target: PropertyGraph) -> GraphState:
    """Make a graph, of whatever store, equal to another, and return its state.

    :raises StatementError: when the target does not take it; it is then as before.
    :raises StorageError: when one of the two cannot be reached.
    """
    state = await source.state()
    await target.apply([ReplaceGraph(state=state)])
    return state
