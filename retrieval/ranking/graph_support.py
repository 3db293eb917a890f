"""Graph support: how strongly the ensemble of ego graphs supports a tool."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from retrieval.query.context import QueryContext

__all__ = ["ensemble_support"]


def ensemble_support(context: QueryContext, tools: NDArray[np.int64]) -> Floats1d:
    """The support of each tool by the entry nodes of a request, float32 [tools], >= 0.

    Each entry node adds its inverse document frequency over the tools to the tools of its ego graph: an n-gram in
    proportion to its number of words, a semantic match in proportion to its cosine.
    """
    snapshot = context.snapshot
    total = np.zeros(snapshot.tool_count, dtype=np.float32)
    best: dict[int, float] = {}
    for entry in context.entries:
        strength = max(entry.score, 0.0) if entry.kind == "semantic" else 0.5 * (1 + entry.text.count(" "))
        best[entry.node] = max(best.get(entry.node, 0.0), snapshot.idf(entry.node) * strength)
    for node, weight in sorted(best.items()):
        total[context.ego_tools(node)] += weight
    return total[tools]
