"""All tables of the graph at a size."""

from __future__ import annotations

from benchmarks.ev_graph.ev_draws import Draws
from benchmarks.ev_graph.ev_nodes import node_tables
from benchmarks.ev_graph.ev_relationships import relationship_tables
from benchmarks.ev_graph.ev_sizes import ev_sizes
from benchmarks.ev_graph.graph_table import GraphTable

__all__ = ["ev_tables"]


def ev_tables(scale: float = 1.0, seed: int = 0) -> tuple[GraphTable, ...]:
    """Return the tables: of nodes first, then of relationships, one for each type and pair of ends.

    :param scale: 1: 229,551 nodes, 313,635 relationships, 20 property keys.
    :raises InvalidArgumentError: when the scale is below 0.01.
    """
    draws, sizes = Draws(seed), ev_sizes(scale)
    return (*node_tables(draws, sizes), *relationship_tables(draws, sizes))
