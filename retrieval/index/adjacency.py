"""The tool graph as compressed sparse rows: who points where, from memory-mapped arrays.

Edges are numbered by head, then tail, then key; ``out`` rows are therefore slices of the edge numbers themselves, and
``in`` rows hold edge numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval.index.mapped_array import mapped

__all__ = ["Adjacency", "read_adjacency", "write_adjacency"]


def write_adjacency(folder: Path, size: int, edges: Sequence[tuple[int, int, int, float]]) -> None:
    """Write the adjacency of ``size`` nodes.

    :param edges: ``(head, tail, predicate number, confidence)``, sorted by head, in edge order.
    """
    arrays = _arranged(
        size,
        heads=np.asarray([edge[0] for edge in edges], dtype=np.int32),
        tails=np.asarray([edge[1] for edge in edges], dtype=np.int32),
        predicates=np.asarray([edge[2] for edge in edges], dtype=np.uint8),
        confidences=np.asarray([edge[3] for edge in edges], dtype=np.float32),
    )
    for part in fields(_Arrays):
        np.save(folder / f"graph.{part.name}.npy", getattr(arrays, part.name))


def read_adjacency(folder: Path) -> Adjacency:
    """The memory-mapped adjacency of a snapshot folder."""
    return Adjacency(_Arrays(**{part.name: mapped(folder / f"graph.{part.name}.npy") for part in fields(_Arrays)}))


def _pointers(ends: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    pointers = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=size), out=pointers[1:])
    return pointers


@dataclass(frozen=True, slots=True)
class _Arrays:
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    predicates: NDArray[np.uint8]
    confidences: NDArray[np.float32]
    out_pointers: NDArray[np.int64]
    in_pointers: NDArray[np.int64]
    in_edges: NDArray[np.int32]


def _arranged(
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
        in_edges=np.argsort(tails, kind="stable").astype(np.int32),
    )


class Adjacency:
    """Edges of a snapshot's graph by node."""

    def __init__(self, arrays: _Arrays) -> None:
        self._arrays = arrays

    def only(self, edges: NDArray[np.int64]) -> Adjacency:
        """The same nodes with no edges but these, ascending; they are numbered anew, in the same order."""
        arrays = self._arrays
        return Adjacency(
            _arranged(
                len(arrays.out_pointers) - 1,
                heads=arrays.heads[edges],
                tails=arrays.tails[edges],
                predicates=arrays.predicates[edges],
                confidences=arrays.confidences[edges],
            )
        )

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return len(self._arrays.heads)

    @property
    def heads(self) -> NDArray[np.int32]:
        """The node that each edge leaves, [edges]."""
        return self._arrays.heads

    @property
    def tails(self) -> NDArray[np.int32]:
        """The node that each edge reaches, [edges]."""
        return self._arrays.tails

    @property
    def predicates(self) -> NDArray[np.uint8]:
        """Predicate number of each edge, [edges]."""
        return self._arrays.predicates

    @property
    def confidences(self) -> NDArray[np.float32]:
        """Confidence of each edge, [edges], in [0, 1]."""
        return self._arrays.confidences

    def head(self, edge: int) -> int:
        """The node that an edge leaves."""
        return int(self._arrays.heads[edge])

    def tail(self, edge: int) -> int:
        """The node that an edge reaches."""
        return int(self._arrays.tails[edge])

    def out_edges(self, node: int) -> NDArray[np.int64]:
        """Numbers of the edges that leave a node, ascending."""
        pointers = self._arrays.out_pointers
        return np.arange(int(pointers[node]), int(pointers[node + 1]), dtype=np.int64)

    def in_edges(self, node: int) -> NDArray[np.int32]:
        """Numbers of the edges that reach a node, ascending."""
        pointers = self._arrays.in_pointers
        return self._arrays.in_edges[int(pointers[node]) : int(pointers[node + 1])]

    def neighbours(self, node: int) -> NDArray[np.int32]:
        """The nodes one step away in either direction, with repeats, tails first."""
        arrays = self._arrays
        out = arrays.tails[int(arrays.out_pointers[node]) : int(arrays.out_pointers[node + 1])]
        into = arrays.heads[self.in_edges(node)]
        return np.concatenate((out, into))

    def touched_by(self, nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The nodes of a mask and everything one step from them, bool [nodes]; one pass over the edges."""
        touched = nodes.copy()
        touched[self._arrays.tails[nodes[self._arrays.heads]]] = True
        touched[self._arrays.heads[nodes[self._arrays.tails]]] = True
        return touched

    def degree(self, node: int) -> int:
        """Number of edges at a node, both directions."""
        arrays = self._arrays
        out = arrays.out_pointers[node + 1] - arrays.out_pointers[node]
        return int(out + arrays.in_pointers[node + 1] - arrays.in_pointers[node])

    def tool_degrees(self, tool_count: int, size: int) -> NDArray[np.int32]:
        """For each of ``size`` nodes the number of edges that join it to a tool (nodes below ``tool_count``)."""
        heads, tails = self._arrays.heads, self._arrays.tails
        into = np.bincount(tails[heads < tool_count], minlength=size)
        out = np.bincount(heads[tails < tool_count], minlength=size)
        return (into + out).astype(np.int32)
