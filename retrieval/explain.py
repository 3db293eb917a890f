"""Why a tool was returned: the entry nodes, the edges walked from them, and who can binding its inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from egotools.values import EntryMatch, ParameterBinding, TraversedEdge
from retrieval.candidates.entry_nodes import EntryNode
from retrieval.snapshot.reader import Snapshot

__all__ = ["entry_reasons", "parameter_bindings"]

_MAX_ENTRIES = 8
_MAX_EDGES = 12
_SUPPLYING = ("supplies", "resolved_by", "depends_on")


def entry_reasons(
    snapshot: Snapshot, tool: int, entries: Sequence[EntryNode]
) -> tuple[tuple[EntryMatch, ...], tuple[TraversedEdge, ...]]:
    """The entry nodes that led to a tool, and the edges between them and it; the eight best and the twelve most telling."""
    edges, others = _edges_at(snapshot, tool)
    entered = np.zeros(len(snapshot.nodes), dtype=bool)
    entered[[entry.node for entry in entries]] = True
    joined = entered[others] & (others != tool)
    edges, others = edges[joined], others[joined]
    led = {*map(int, others), tool}
    matches = [entry for entry in entries if entry.node in led]
    matches.sort(key=lambda entry: (entry.kind != "ngram", -entry.score, entry.node))
    # What few tools touch says more than what many do.
    telling = np.lexsort((edges, snapshot.tool_degrees[others]))[:_MAX_EDGES]
    return (
        tuple(
            EntryMatch(
                node=snapshot.node_key(entry.node),
                kind=entry.kind,
                text=entry.text or snapshot.node_text(entry.node)[:120],
                score=round(entry.score, 6),
            )
            for entry in matches[:_MAX_ENTRIES]
        ),
        tuple(_walked(snapshot, int(edge)) for edge in edges[telling]),
    )


def parameter_bindings(snapshot: Snapshot, tool: int, returned: Sequence[int]) -> tuple[ParameterBinding, ...]:
    """For each required input of a tool, the best returned tool that can binding it; unfilled inputs are named too.

    Inputs that a derived or declared edge names are listed as well when they are optional.
    """
    adjacency = snapshot.adjacency
    edges, others = _edges_at(snapshot, tool)
    wanted = np.zeros(len(snapshot.nodes), dtype=bool)
    wanted[[one for one in returned if one != tool]] = True
    among = wanted[others]
    best: dict[str, ParameterBinding] = {}
    for edge, other in zip(map(int, edges[among]), map(int, others[among]), strict=True):
        predicate = snapshot.predicates[adjacency.predicates[edge]]
        # supplies points at the tool that is filled; the other two point away from it.
        fills = adjacency.tail(edge) == tool if predicate == "supplies" else adjacency.head(edge) == tool
        if predicate not in _SUPPLYING or not fills:
            continue
        binding = _binding(snapshot, edge, other, predicate)
        known = best.get(binding.parameter)
        if known is None or (binding.confidence, known.supplier) > (known.confidence, binding.supplier):
            best[binding.parameter] = binding
    required = [row["name"] for row in snapshot.tools[tool]["parameters"] if row["required"]]
    listed = [best.pop(name, ParameterBinding(parameter=name)) for name in required]
    return (*listed, *(best[name] for name in sorted(best)))


def _binding(snapshot: Snapshot, edge: int, other: int, kind: str) -> ParameterBinding:
    row = snapshot.edges[edge]
    return ParameterBinding(
        parameter=row.get("parameter", ""),
        supplier=snapshot.tool_id(other),
        output=row.get("output", ""),
        kind=kind,
        confidence=round(float(snapshot.adjacency.confidences[edge]), 6),
    )


def _edges_at(snapshot: Snapshot, node: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The edges at a node, out then in, and the node at the other end of each."""
    adjacency = snapshot.adjacency
    edges = np.concatenate((adjacency.out_edges(node), adjacency.in_edges(node)))
    return edges.astype(np.int64), adjacency.neighbours(node).astype(np.int64)


def _walked(snapshot: Snapshot, edge: int) -> TraversedEdge:
    adjacency = snapshot.adjacency
    return TraversedEdge(
        head=snapshot.node_key(adjacency.head(edge)),
        predicate=snapshot.predicates[adjacency.predicates[edge]],
        tail=snapshot.node_key(adjacency.tail(edge)),
        confidence=round(float(adjacency.confidences[edge]), 6),
    )
