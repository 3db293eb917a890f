"""The edges of tools as arrays: the pairs of tools that they connect, in the graph and after a random permutation of
their tails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eval.graph_quality.hubs import hubs
from eval.graph_quality.tool_pairs import DEPENDENCY_PREDICATES, Numbers, Pairs, encode
from retrieval.snapshot.reader import Snapshot

__all__ = ["Flags", "ToolEdges"]

Flags = NDArray[np.bool_]
_SYSTEM = "has_system"


@dataclass(frozen=True)
class ToolEdges:
    """The edges with a tool and without a hub at their ends; equal edges count once.

    :param kinds: for each edge the number of its kind: predicate, and whether it is between tools (odd).
    :param blocks: for each edge the number of its kind and of the systems of the tools at both ends.
    :param names: map from the graph's predicates between tools to their kinds.
    """

    heads: Numbers
    tails: Numbers
    kinds: Numbers
    blocks: Numbers
    names: dict[str, int]
    tool_count: int
    node_count: int

    @classmethod
    def of(cls, snapshot: Snapshot) -> ToolEdges:
        """Read the edges from a snapshot."""
        graph, tools = snapshot.adjacency, snapshot.tool_count
        hub = hubs(snapshot)
        kept = ((graph.heads < tools) | (graph.tails < tools)) & ~hub[graph.heads] & ~hub[graph.tails]
        rows = np.stack((graph.heads, graph.tails, graph.predicates), axis=1)[kept].astype(np.int64)
        heads, tails, predicates = np.unique(rows, axis=0).T
        kinds = 2 * predicates + ((heads < tools) & (tails < tools))
        system = _systems(snapshot)
        blocks = np.unique(np.stack((kinds, system[heads], system[tails])), axis=1, return_inverse=True)[1].reshape(-1)
        known = {name: snapshot.predicates.index(name) for name in DEPENDENCY_PREDICATES if name in snapshot.predicates}
        names = {name: 2 * number + 1 for name, number in known.items() if 2 * number + 1 in kinds}
        return cls(heads, tails, kinds, blocks, names, tools, len(snapshot.nodes))

    def shuffled(self, random: np.random.Generator, *, within_systems: bool = False) -> ToolEdges:
        """Return the edges with their tails permuted at random among the edges of one kind.

        :param within_systems: permute only among edges between the same two systems.
        """
        groups = self.blocks if within_systems else self.kinds
        drawn = np.lexsort((random.random(len(groups)), groups))
        tails = np.empty_like(self.tails)
        tails[np.argsort(groups, kind="stable")] = self.tails[drawn]
        return replace(self, tails=tails)

    def between_tools(self, kind: int | None = None) -> Flags:
        """Return the mask of the edges from tool to tool; all, or those of one kind."""
        return np.asarray(self.kinds % 2 == 1 if kind is None else self.kinds == kind)

    def direct(self, chosen: Flags, pairs: Pairs) -> Flags:
        """Return the mask of the pairs that one of the chosen edges connects."""
        heads, tails = self.heads[chosen], self.tails[chosen]
        joined = encode(np.minimum(heads, tails), np.maximum(heads, tails), self.tool_count)
        return np.isin(pairs, joined, assume_unique=True)

    def through_one(self, chosen: Flags, pairs: Pairs) -> Flags:
        """Return the mask of the pairs with a common neighbour along the chosen edges."""
        first, second = np.divmod(pairs, self.tool_count)
        near = self._neighbours(chosen, np.union1d(first, second))
        nothing: frozenset[int] = frozenset()
        found = (
            not near.get(one, nothing).isdisjoint(near.get(other, nothing))
            for one, other in zip(first.tolist(), second.tolist(), strict=True)
        )
        return np.fromiter(found, dtype=bool, count=len(pairs))

    def _neighbours(self, chosen: Flags, tools: Numbers) -> dict[int, frozenset[int]]:
        wanted = np.zeros(self.node_count, dtype=bool)
        wanted[tools] = True
        near = np.concatenate((self.heads[chosen], self.tails[chosen]))
        far = np.concatenate((self.tails[chosen], self.heads[chosen]))
        near, far = near[wanted[near]], far[wanted[near]]
        order = np.argsort(near, kind="stable")
        near, far = near[order], far[order]
        starts = np.searchsorted(near, tools)
        ends = np.searchsorted(near, tools, side="right")
        return {
            tool: frozenset(far[start:end].tolist())
            for tool, start, end in zip(tools.tolist(), starts.tolist(), ends.tolist(), strict=True)
        }


def _systems(snapshot: Snapshot) -> Numbers:
    """Return for each node the number of its system if it is a tool with one, else -1."""
    systems = np.full(len(snapshot.nodes), -1, dtype=np.int64)
    if _SYSTEM in snapshot.predicates:
        of = snapshot.adjacency.predicates == snapshot.predicates.index(_SYSTEM)
        systems[snapshot.adjacency.heads[of]] = snapshot.adjacency.tails[of]
    return systems
