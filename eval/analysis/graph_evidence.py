"""Graph evidence about two tools: edges between them, common neighbours, and whether they are near-duplicates."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from egotools.values import TraversedEdge
from eval.graph_quality.hubs import hubs
from retrieval.index.analysis import terms
from retrieval.snapshot.reader import Snapshot

__all__ = ["GraphEvidence"]

_MAX_SHARED = 5  # number of common nodes that are named
_SIMILAR = 0.8  # minimum Jaccard similarity of the words of two near-duplicates
_MIN_NAME_WORDS = 2  # names of one word (``search``) are too common to compare
_MIN_TEXT_WORDS = 3


class GraphEvidence:
    """Evidence about pairs of tools, from the graph of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._hubs = hubs(snapshot)

    def edges(self, tool: str, others: Collection[str]) -> tuple[TraversedEdge, ...]:
        """Return the edges between the tool and any of the others, in order of decreasing confidence."""
        snapshot, number = self._snapshot, self._snapshot.find_node(f"tool:{tool}")
        if number is None:
            return ()
        adjacency = snapshot.adjacency
        wanted = {snapshot.find_node(f"tool:{other}") for other in others} - {None, number}
        at = np.concatenate((adjacency.out_edges(number), adjacency.in_edges(number)))
        found = [int(edge) for edge in at if {adjacency.head(int(edge)), adjacency.tail(int(edge))} & wanted]
        found.sort(key=lambda edge: (-float(adjacency.confidences[edge]), edge))
        return tuple(
            TraversedEdge(
                head=snapshot.node_key(adjacency.head(edge)),
                predicate=snapshot.predicates[adjacency.predicates[edge]],
                tail=snapshot.node_key(adjacency.tail(edge)),
                confidence=round(float(adjacency.confidences[edge]), 6),
            )
            for edge in found
        )

    def shared(self, tool: str, others: Collection[str]) -> tuple[str, ...]:
        """Return the keys of the common neighbours of the tool and the others, without hubs; those with the fewest tools
        first.
        """
        mine = self._nodes(tool)
        both = {node for other in sorted(others) if other != tool for node in mine & self._nodes(other)}
        fewest = sorted(both, key=lambda node: (int(self._snapshot.tool_degrees[node]), node))
        return tuple(self._snapshot.node_key(node) for node in fewest[:_MAX_SHARED])

    def near_duplicate(self, tool: str, others: Collection[str]) -> str:
        """Return the first of the others whose name or description is nearly the same; empty where there is none."""
        mine = self._words(tool)
        for other in others:
            if mine is None or other == tool:
                continue
            words = self._words(other)
            if words is not None and (
                _similar(mine[0], words[0], _MIN_NAME_WORDS) or _similar(mine[1], words[1], _MIN_TEXT_WORDS)
            ):
                return other
        return ""

    def _nodes(self, tool: str) -> set[int]:
        """Return the neighbours of a tool that are neither tools nor hubs."""
        snapshot, number = self._snapshot, self._snapshot.find_node(f"tool:{tool}")
        if number is None:
            return set()
        around = map(int, snapshot.adjacency.neighbours(number))
        return {node for node in around if node >= snapshot.tool_count and not self._hubs[node]}

    def _words(self, tool: str) -> tuple[frozenset[str], frozenset[str]] | None:
        """Return the terms of a tool's name and of its description; None for an unknown tool."""
        number = self._snapshot.find_node(f"tool:{tool}")
        if number is None:
            return None
        found = self._snapshot.tool(number)
        return frozenset(terms(found.name)), frozenset(terms(found.description))


def _similar(one: frozenset[str], other: frozenset[str], min_common: int) -> bool:
    """Whether two texts have nearly the same words, and at least ``min_common`` in common."""
    common, union = one & other, one | other
    return len(common) >= min_common and len(common) >= _SIMILAR * len(union)
