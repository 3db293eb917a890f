"""What was learned from use as edges of the graph: ``used_with`` between tools, and ``returns`` for outputs that were observed."""

from __future__ import annotations

import numpy as np

from egotools.values import GraphEdge, Provenance
from retrieval.index.learned_use import UsedWith
from retrieval.snapshot.reader import Snapshot

__all__ = ["RUN", "USED_WITH", "learned_edges", "used_with_edge"]

USED_WITH, _RETURNS = "used_with", "returns"
RUN = "run.v1"
"""The name of the extractor of what was observed in use, in provenance."""


def learned_edges(snapshot: Snapshot, node: int) -> list[GraphEdge]:
    """The edges of a node that were learned from use: pairs first, by confidence."""
    learned = snapshot.learned
    if learned is None or node >= snapshot.tool_count:
        return []
    pairs = learned.used_with
    found = np.flatnonzero((pairs.heads == node) | (pairs.tails == node))
    found = found[np.lexsort((found, -pairs.confidences[found]))]
    tool_id = snapshot.tool_id(node)
    returned = [
        GraphEdge(
            head=snapshot.node_key(node),
            predicate=_RETURNS,
            tail=f"parameter:{one.name}",
            phrase=_support(one.sessions, one.reporters),
            provenance=(Provenance(tool_id=tool_id, field=f"returns.{one.name}", extractor=RUN),),
        )
        for one in learned.returns
        if one.tool == tool_id
    ]
    return [*(used_with_edge(snapshot, pairs, int(pair)) for pair in found), *returned]


def used_with_edge(snapshot: Snapshot, pairs: UsedWith, pair: int) -> GraphEdge:
    """A pair as an edge; its phrase is its support."""
    head, tail = int(pairs.heads[pair]), int(pairs.tails[pair])
    return GraphEdge(
        head=snapshot.node_key(head),
        predicate=USED_WITH,
        tail=snapshot.node_key(tail),
        confidence=round(float(pairs.confidences[pair]), 6),
        phrase=_support(int(pairs.sessions[pair]), int(pairs.reporters[pair])),
        provenance=(Provenance(tool_id=snapshot.tool_id(head), field="outcomes", extractor=RUN),),
    )


def _support(sessions: int, reporters: int) -> str:
    return f"{sessions} sessions of {reporters} reporters"
