"""The adjacency of the tool graph as compressed sparse rows (CSR), in memory-mapped arrays.

Edges are numbered by head, then tail, then key. So a node's outgoing edges are a range; its incoming edges are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval.index.records import load_mapped

__all__ = ["Adjacency", "make_adjacency", "read_adjacency", "write_adjacency"]

_MOST_EDGES = 0.5  # above this share of the edges one pass over all of them is faster (11.6 million random edges)


def write_adjacency(folder: Path, size: int, edges: Sequence[tuple[int, int, int, float]]) -> None:
    """Write the adjacency of ``size`` nodes.

    :param edges: ``(head, tail, predicate number, confidence)``, in edge order.
    """
    arrays = _make_arrays(
        size,
        heads=np.asarray([edge[0] for edge in edges], dtype=np.int32),
        tails=np.asarray([edge[1] for edge in edges], dtype=np.int32),
        predicates=np.asarray([edge[2] for edge in edges], dtype=np.uint8),
        confidences=np.asarray([edge[3] for edge in edges], dtype=np.float32),
    )
    for part in fields(_Arrays):
        np.save(folder / f"graph.{part.name}.npy", getattr(arrays, part.name))


def read_adjacency(folder: Path) -> Adjacency:
    """Open the memory-mapped adjacency of a snapshot folder."""
    return Adjacency(_Arrays(**{part.name: load_mapped(folder / f"graph.{part.name}.npy") for part in fields(_Arrays)}))


def make_adjacency(
    size: int,
    *,
    heads: NDArray[np.int32],
    tails: NDArray[np.int32],
    predicates: NDArray[np.uint8],
    confidences: NDArray[np.float32],
) -> Adjacency:
    """Return the adjacency of ``size`` nodes in memory; one entry an edge, in the order of ``heads``, which is ascending."""
    return Adjacency(_make_arrays(size, heads=heads, tails=tails, predicates=predicates, confidences=confidences))


def _pointers(ends: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    pointers = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=size), out=pointers[1:])
    return pointers


def _ranges(pointers: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions that the pointers give to these nodes, int64."""
    starts = pointers[nodes]
    counts = pointers[nodes + 1] - starts
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()))


@dataclass(frozen=True, slots=True)
class _Arrays:
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    predicates: NDArray[np.uint8]
    confidences: NDArray[np.float32]
    out_pointers: NDArray[np.int64]
    in_pointers: NDArray[np.int64]
    in_edges: NDArray[np.int32]


def _make_arrays(
    size: int,
    *,
    heads: NDArray[np.int32],
    tails: NDArray[np.int32],
    predicates: NDArray[np.uint8],
    confidences: NDArray[np.float32],
) -> _Arrays:
    return _Arrays(
        heads=heads,
        tails=tails,
        predicates=predicates,
        confidences=confidences,
        out_pointers=_pointers(heads, size),
        in_pointers=_pointers(tails, size),
        in_edges=_by_tail(tails),
    )


def _by_tail(tails: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the numbers of the edges by tail, then number, int32: as a stable argsort, in a fifth of its time."""
    keyed = (tails.astype(np.int64) << 32) | np.arange(len(tails))
    keyed.sort()
    return (keyed & 0xFFFFFFFF).astype(np.int32)


class Adjacency:
    """The edges of a snapshot's graph, by node."""

    def __init__(self, arrays: _Arrays) -> None:
        self._arrays = arrays

    def subset(self, edges: NDArray[np.int64]) -> Adjacency:
        """Return the same nodes with only these edges, renumbered; ``edges`` are edge numbers, ascending, int64."""
        arrays = self._arrays
        return make_adjacency(
            len(arrays.out_pointers) - 1,
            heads=arrays.heads[edges],
            tails=arrays.tails[edges],
            predicates=arrays.predicates[edges],
            confidences=arrays.confidences[edges],
        )

    @property
    def heads(self) -> NDArray[np.int32]:
        """The head node of each edge, int32 [edges]."""
        return self._arrays.heads

    @property
    def tails(self) -> NDArray[np.int32]:
        """The tail node of each edge, int32 [edges]."""
        return self._arrays.tails

    @property
    def predicates(self) -> NDArray[np.uint8]:
        """The predicate number of each edge, uint8 [edges]."""
        return self._arrays.predicates

    @property
    def confidences(self) -> NDArray[np.float32]:
        """The confidence of each edge, float32 [edges], in [0, 1]."""
        return self._arrays.confidences

    def head(self, edge: int) -> int:
        """Return the head node of an edge."""
        return int(self._arrays.heads[edge])

    def tail(self, edge: int) -> int:
        """Return the tail node of an edge."""
        return int(self._arrays.tails[edge])

    def out_edges(self, node: int) -> NDArray[np.int64]:
        """Return the numbers of the outgoing edges of a node, ascending, int64."""
        pointers = self._arrays.out_pointers
        return np.arange(int(pointers[node]), int(pointers[node + 1]), dtype=np.int64)

    def in_edges(self, node: int) -> NDArray[np.int32]:
        """Return the numbers of the incoming edges of a node, ascending, int32."""
        pointers = self._arrays.in_pointers
        return self._arrays.in_edges[int(pointers[node]) : int(pointers[node + 1])]

    def neighbours(self, node: int) -> NDArray[np.int32]:
        """Return the nodes one edge away in either direction, int32: tails first, then heads; may have duplicates."""
        arrays = self._arrays
        out = arrays.tails[int(arrays.out_pointers[node]) : int(arrays.out_pointers[node + 1])]
        into = arrays.heads[self.in_edges(node)]
        return np.concatenate((out, into))

    def with_neighbours(self, nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the mask extended by all nodes one edge away, bool [nodes].

        The edges of the nodes are read, or, where these are most of them, all edges in their order.
        """
        arrays, extended = self._arrays, nodes.copy()
        chosen = np.flatnonzero(nodes)
        edges = sum(int((ends[chosen + 1] - ends[chosen]).sum()) for ends in (arrays.out_pointers, arrays.in_pointers))
        if edges > len(arrays.heads) * _MOST_EDGES:
            extended[arrays.tails[nodes[arrays.heads]]] = True
            extended[arrays.heads[nodes[arrays.tails]]] = True
            return extended
        extended[arrays.tails[_ranges(arrays.out_pointers, chosen)]] = True
        extended[arrays.heads[arrays.in_edges[_ranges(arrays.in_pointers, chosen)]]] = True
        return extended

    def degree(self, node: int) -> int:
        """Return the number of edges of a node, in both directions."""
        arrays = self._arrays
        out = arrays.out_pointers[node + 1] - arrays.out_pointers[node]
        return int(out + arrays.in_pointers[node + 1] - arrays.in_pointers[node])

    def tool_degrees(self, tool_count: int, size: int) -> NDArray[np.int32]:
        """Return for each of ``size`` nodes the number of edges to tools (nodes below ``tool_count``), int32 [size]."""
        heads, tails = self._arrays.heads, self._arrays.tails
        into = np.bincount(tails[heads < tool_count], minlength=size)
        out = np.bincount(heads[tails < tool_count], minlength=size)
        return (into + out).astype(np.int32)
