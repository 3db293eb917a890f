"""The adjacency of the tool graph as compressed sparse rows (CSR), in memory-mapped arrays.

Edges are numbered by head, then tail, then key. So a node's outgoing edges are a range; its incoming edges are stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GRAPH = "graph"  # how the names of its files begin
_MOST_EDGES = 0.5  # above this share of the edges one pass over all of them is faster


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The edges of a snapshot's graph, by node. Each field is an array file of the snapshot."""

    heads: NDArray[np.int32]  # the head node of each edge, ascending, int32 [edges]
    tails: NDArray[np.int32]  # the tail node of each edge, int32 [edges]
    predicates: NDArray[np.uint8]  # the predicate number of each edge, uint8 [edges]
    confidences: NDArray[np.float32]  # the confidence of each edge, in [0, 1], float32 [edges]
    out_pointers: NDArray[np.int64]  # start and end of the outgoing edges of each node, int64 [nodes + 1]
    in_pointers: NDArray[np.int64]  # the same of its incoming edges in ``in_edges``
    in_edges: NDArray[np.int32]  # numbers of the edges by tail, then number, int32 [edges]

    def subset(self, edges: NDArray[np.int64]) -> Adjacency:
        """Return the same nodes with only these edges, renumbered; ``edges`` are edge numbers, ascending, int64."""
        return make_adjacency(
            len(self.out_pointers) - 1,
            heads=self.heads[edges],
            tails=self.tails[edges],
            predicates=self.predicates[edges],
            confidences=self.confidences[edges],
        )

    def out_edges(self, node: int) -> NDArray[np.int64]:
        """Return the numbers of the outgoing edges of a node, ascending, int64."""
        return np.arange(int(self.out_pointers[node]), int(self.out_pointers[node + 1]), dtype=np.int64)

    def in_edges_of(self, node: int) -> NDArray[np.int32]:
        """Return the numbers of the incoming edges of a node, ascending, int32."""
        return self.in_edges[int(self.in_pointers[node]) : int(self.in_pointers[node + 1])]

    def neighbours(self, node: int) -> NDArray[np.int32]:
        """Return the nodes one edge away in either direction, int32: tails first, then heads; may have duplicates."""
        out = self.tails[int(self.out_pointers[node]) : int(self.out_pointers[node + 1])]
        return np.concatenate((out, self.heads[self.in_edges_of(node)]))

    def with_neighbours(self, nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the mask extended by all nodes one edge away, bool [nodes]. The edges of the nodes are read, or, where
        these are most of them, all edges in their order."""
        extended, chosen = nodes.copy(), np.flatnonzero(nodes)
        edges = sum(int((ends[chosen + 1] - ends[chosen]).sum()) for ends in (self.out_pointers, self.in_pointers))
        if edges > len(self.heads) * _MOST_EDGES:
            extended[self.tails[nodes[self.heads]]] = True
            extended[self.heads[nodes[self.tails]]] = True
            return extended
        extended[self.tails[_ranges(self.out_pointers, chosen)]] = True
        extended[self.heads[self.in_edges[_ranges(self.in_pointers, chosen)]]] = True
        return extended

    def around(self, tools: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the mask of some tools, the first nodes, and of all other nodes one edge away, bool [nodes]."""
        nodes = np.zeros(len(self.out_pointers) - 1, dtype=bool)
        nodes[: len(tools)] = tools
        nodes = self.with_neighbours(nodes)
        nodes[: len(tools)] = tools
        return nodes

    def degree(self, node: int) -> int:
        """Return the number of edges of a node, in both directions."""
        return int(sum(ends[node + 1] - ends[node] for ends in (self.out_pointers, self.in_pointers)))

    def tool_degrees(self, tool_count: int, size: int) -> NDArray[np.int32]:
        """Return for each of ``size`` nodes the number of edges to tools (nodes below ``tool_count``), int32 [size]."""
        into = np.bincount(self.tails[self.heads < tool_count], minlength=size)
        out = np.bincount(self.heads[self.tails < tool_count], minlength=size)
        return (into + out).astype(np.int32)


def make_adjacency(
    size: int,
    *,
    heads: NDArray[np.int32],
    tails: NDArray[np.int32],
    predicates: NDArray[np.uint8],
    confidences: NDArray[np.float32],
) -> Adjacency:
    """Return the adjacency of ``size`` nodes in memory; one entry an edge, in the order of ``heads``, which is ascending."""
    by_tail = (tails.astype(np.int64) << 32) | np.arange(len(tails))  # as a stable argsort, in a fifth of its time
    by_tail.sort()
    return Adjacency(
        heads=heads,
        tails=tails,
        predicates=predicates,
        confidences=confidences,
        out_pointers=_pointers(heads, size),
        in_pointers=_pointers(tails, size),
        in_edges=(by_tail & 0xFFFFFFFF).astype(np.int32),
    )


def _pointers(ends: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.bincount(ends, minlength=size)))).astype(np.int64)


def _ranges(pointers: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions that the pointers give to these nodes, int64."""
    starts = pointers[nodes]
    counts = pointers[nodes + 1] - starts
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()))
