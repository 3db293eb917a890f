"""Pairs of tools as sorted numbers: sets of them are compared in one pass, also where there are millions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval.snapshot.reader import Snapshot

__all__ = ["NEED_PREDICATES", "Pairs", "declared_needs", "encode", "ends", "found_needs", "mapped_ends", "undirected"]

Pairs = NDArray[np.int64]
"""A set of ordered pairs of numbers below ``size``: ``first * size + second``, ascending, distinct; no number is paired with itself."""

NEED_PREDICATES = ("supplies", "resolved_by", "depends_on")
"""The predicates between tools that say that one needs the other."""
_POINTS_AT_NEEDY = "supplies"  # leads from the provider to the tool that needs it; the others lead the other way


def encode(first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]], size: int) -> Pairs:
    """The set of the pairs ``(first[i], second[i])``."""
    apart = first != second
    return np.unique(first[apart].astype(np.int64) * size + second[apart])


def ends(pairs: Pairs, size: int) -> NDArray[np.int64]:
    """The numbers that stand in any pair, ascending."""
    return np.unique(np.concatenate(np.divmod(pairs, size)))


def undirected(pairs: Pairs, size: int) -> Pairs:
    """The same pairs, the lower number first."""
    first, second = np.divmod(pairs, size)
    return encode(np.minimum(first, second), np.maximum(first, second), size)


def mapped_ends(pairs: Pairs, size: int, groups: NDArray[np.int64], group_count: int) -> Pairs:
    """The pairs of the groups of both ends; ``groups`` holds a number below ``group_count`` for each below ``size``."""
    first, second = np.divmod(pairs, size)
    return encode(groups[first], groups[second], group_count)


def found_needs(snapshot: Snapshot) -> dict[str, Pairs]:
    """For each predicate of :data:`NEED_PREDICATES` the pairs (tool that needs, tool that is needed) of the graph."""
    count, edges = snapshot.tool_count, snapshot.adjacency
    between = np.flatnonzero((edges.heads < count) & (edges.tails < count))
    heads, tails, predicates = edges.heads[between], edges.tails[between], edges.predicates[between]
    found = {}
    for name in NEED_PREDICATES:
        of = predicates == snapshot.predicates.index(name) if name in snapshot.predicates else predicates < 0
        needy, needed = (tails[of], heads[of]) if name == _POINTS_AT_NEEDY else (heads[of], tails[of])
        found[name] = encode(needy, needed, count)
    return found


def declared_needs(snapshot: Snapshot) -> Pairs:
    """The pairs (tool that needs, tool that is needed) that the documents declared to the builder."""
    found = []
    for number, row in enumerate(snapshot.tools):
        for need in row.get("depends_on", ()):
            needed = snapshot.find_node(f"tool:{need['tool']}")
            if needed is not None:
                found.append((number, needed))
    pairs = np.asarray(found, dtype=np.int64).reshape(-1, 2)
    return encode(pairs[:, 0], pairs[:, 1], snapshot.tool_count)
