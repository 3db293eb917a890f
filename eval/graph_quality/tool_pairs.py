"""Pairs of tools, encoded as sorted integers, so that large sets of pairs are compared in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval.snapshot.reader import Snapshot

__all__ = [
    "DEPENDENCY_PREDICATES",
    "Numbers",
    "Pairs",
    "declared_pairs",
    "derived_pairs",
    "encode",
    "ends",
    "map_ends",
    "undirected",
]

Numbers = NDArray[np.int64]
Pairs = NDArray[np.int64]
"""A set of ordered pairs of numbers below ``size``: ``first * size + second``, ascending, distinct; no number is
paired with itself.
"""

DEPENDENCY_PREDICATES = ("supplies", "resolved_by", "depends_on")
"""The predicates between a consumer and a producer."""
_FROM_PRODUCER = (
    "supplies"  # leads from the producer to the consumer; the others lead from the consumer to the producer
)


def encode(first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]], size: int) -> Pairs:
    """Encode the pairs ``(first[i], second[i])`` as a set."""
    differ = first != second
    return np.unique(first[differ].astype(np.int64) * size + second[differ])


def ends(pairs: Pairs, size: int) -> Numbers:
    """Return the numbers in any pair, ascending."""
    return np.unique(np.concatenate(np.divmod(pairs, size)))


def undirected(pairs: Pairs, size: int) -> Pairs:
    """Return the pairs with the smaller number first."""
    first, second = np.divmod(pairs, size)
    return encode(np.minimum(first, second), np.maximum(first, second), size)


def map_ends(pairs: Pairs, size: int, groups: Numbers, group_count: int) -> Pairs:
    """Return the pairs of the groups of both ends; ``groups`` maps each number below ``size`` to a number below
    ``group_count``.
    """
    first, second = np.divmod(pairs, size)
    return encode(groups[first], groups[second], group_count)


def derived_pairs(snapshot: Snapshot) -> dict[str, Pairs]:
    """Return for each predicate of :data:`DEPENDENCY_PREDICATES` the pairs (consumer, producer) of the graph."""
    count, edges = snapshot.tool_count, snapshot.adjacency
    between = np.flatnonzero((edges.heads < count) & (edges.tails < count))
    heads, tails, predicates = edges.heads[between], edges.tails[between], edges.predicates[between]
    found = {}
    for name in DEPENDENCY_PREDICATES:
        of = predicates == snapshot.predicates.index(name) if name in snapshot.predicates else predicates < 0
        consumers, producers = (tails[of], heads[of]) if name == _FROM_PRODUCER else (heads[of], tails[of])
        found[name] = encode(consumers, producers, count)
    return found


def declared_pairs(snapshot: Snapshot) -> Pairs:
    """The pairs (consumer, producer) that the documents declare."""
    found = []
    for number, tool in enumerate(snapshot.tools):
        for dependency in tool.depends_on:
            producer = snapshot.find_node(f"tool:{dependency.tool}")
            if producer is not None:
                found.append((number, producer))
    pairs = np.asarray(found, dtype=np.int64).reshape(-1, 2)
    return encode(pairs[:, 0], pairs[:, 1], snapshot.tool_count)
