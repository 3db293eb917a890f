"""The ensemble of ego graphs: entry nodes and everything one step around them (paper, section 3.3.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval.candidates.entry_nodes import EntryNode
from retrieval.snapshot.reader import Snapshot

__all__ = ["ego_tools", "ensemble_tools", "support"]


def ego_tools(snapshot: Snapshot, node: int, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """The tools in the 1-hop ego graph of a node, itself included, ascending and distinct."""
    around = np.append(snapshot.adjacency.neighbours(node), node)
    tools = np.unique(around[around < snapshot.tool_count]).astype(np.int64)
    return tools if allowed is None else tools[allowed[tools]]


def ensemble_tools(
    snapshot: Snapshot, entries: Sequence[EntryNode], allowed: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """The tools of the ensemble (algorithm 2, lines 6-10), ascending and distinct."""
    if not entries:
        return np.empty(0, dtype=np.int64)
    nodes = sorted({entry.node for entry in entries})
    return np.unique(np.concatenate([ego_tools(snapshot, node, allowed) for node in nodes]))


def support(snapshot: Snapshot, entries: Sequence[EntryNode], tools: NDArray[np.int64]) -> NDArray[np.float32]:
    """How much of the ensemble speaks for each tool, float32 [tools], >= 0.

    Each entry node gives its rarity (inverse document frequency over the tools) to the tools of its ego graph, an
    n-gram in proportion to its words, a semantic match in proportion to its cosine.
    """
    total = np.zeros(snapshot.tool_count, dtype=np.float32)
    best: dict[int, float] = {}
    for entry in entries:
        strength = max(entry.score, 0.0) if entry.kind == "semantic" else 0.5 * (1 + entry.text.count(" "))
        best[entry.node] = max(best.get(entry.node, 0.0), snapshot.rarity(entry.node) * strength)
    for node, weight in sorted(best.items()):
        total[ego_tools(snapshot, node)] += weight
    return total[tools]
