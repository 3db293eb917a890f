"""The ensemble of ego graphs: the entry nodes and all nodes one edge away (paper, section 3.3.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval.query.context import EntryNode
from retrieval.snapshot.reader import Snapshot

__all__ = ["ensemble_tools"]


def ensemble_tools(
    snapshot: Snapshot, entries: Sequence[EntryNode], allowed: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Return the allowed tools of the ensemble (algorithm 2, lines 6-10), ascending and distinct."""
    if not entries:
        return np.empty(0, dtype=np.int64)
    nodes = sorted({entry.node for entry in entries})
    return np.unique(np.concatenate([snapshot.ego_tools(node, allowed) for node in nodes]))
