"""The edges by which one tool supplies another.

An edge ``supplies`` points to the tool that is supplied; ``resolved_by`` and ``depends_on`` point away from it, to the supplier.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from retrieval.snapshot.reader import Snapshot

__all__ = ["consumer_edges", "supplier_edges"]

_POINT_TO_CONSUMER = frozenset({"supplies"})
_POINT_TO_SUPPLIER = frozenset({"resolved_by", "depends_on"})
_ALL = _POINT_TO_CONSUMER | _POINT_TO_SUPPLIER


def supplier_edges(snapshot: Snapshot, tool: int, predicates: Collection[str] = _ALL) -> Iterator[tuple[int, int, str]]:
    """Yield number, supplier and predicate of the edges by which other tools supply a tool: outgoing ones, then incoming ones."""
    return _edges(
        snapshot, tool, _POINT_TO_SUPPLIER.intersection(predicates), _POINT_TO_CONSUMER.intersection(predicates)
    )


def consumer_edges(snapshot: Snapshot, tool: int, predicates: Collection[str] = _ALL) -> Iterator[tuple[int, int, str]]:
    """Yield number, consumer and predicate of the edges by which a tool supplies others: outgoing ones, then incoming ones."""
    return _edges(
        snapshot, tool, _POINT_TO_CONSUMER.intersection(predicates), _POINT_TO_SUPPLIER.intersection(predicates)
    )


def _edges(
    snapshot: Snapshot, tool: int, outgoing: Collection[str], incoming: Collection[str]
) -> Iterator[tuple[int, int, str]]:
    adjacency, names = snapshot.adjacency, snapshot.predicates
    for edges, ends, wanted in (
        (adjacency.out_edges(tool), adjacency.tails, outgoing),
        (adjacency.in_edges(tool), adjacency.heads, incoming),
    ):
        if not len(edges):
            continue
        wanted_P = np.array([name in wanted for name in names])
        for edge in map(int, edges[wanted_P[adjacency.predicates[edges]]]):
            other = int(ends[edge])
            if other < snapshot.tool_count and other != tool:
                yield edge, other, names[adjacency.predicates[edge]]
