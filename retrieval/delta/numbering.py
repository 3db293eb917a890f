"""The numbers of the nodes of a joined snapshot: tools first, by id; then the other nodes, by key; as a build would number them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrieval.snapshot.reader import Snapshot

__all__ = ["Numbering", "number_nodes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbering:
    """Which node of the snapshot, or which added node, each node of the joined snapshot is.

    :param of_base: the new number of each node of the snapshot, int64 [nodes of the snapshot]; -1 where it is left out.
    :param of_added: the new number of each added node, int64 [added].
    :param origins: for each new number the number in the snapshot, or ``-1 - position`` among the added nodes, int64 [nodes].
    :param tool_count: number of tools, which are the first nodes.
    :param added_tools: number of tools among the added nodes, which are the first of them.
    """

    of_base: NDArray[np.int64]
    of_added: NDArray[np.int64]
    origins: NDArray[np.int64]
    tool_count: int
    added_tools: int

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.origins)


def number_nodes(base: Snapshot, dropped: Collection[int], tools: Sequence[str], others: Sequence[str]) -> Numbering:
    """Number the nodes of a snapshot without ``dropped`` and with new ones. The order of the kept nodes stays.

    :param dropped: numbers of nodes of the snapshot.
    :param tools: ids of the added tools, ascending; none of a kept tool.
    :param others: keys of the added nodes that are no tools, ascending; none of a kept node.
    """
    count, size = base.tool_count, len(base.nodes)
    places = [bisect_left(range(count), id_, key=base.tool_id) for id_ in tools]
    places += [count + bisect_left(range(count, size), key, key=base.node_key) for key in others]
    at = np.asarray(places, dtype=np.int64)
    kept = np.ones(size + 1, dtype=bool)
    kept[list(dropped)] = False
    before = np.cumsum(kept) - kept  # kept nodes before each number
    numbers = np.arange(size)
    # A tool that is inserted after the last one is at the place of the first other node, and still before it.
    of_base = before[:-1] + np.searchsorted(at, numbers, side="right")
    of_base[~kept[:-1]] = -1
    of_added = before[at] + np.arange(len(at))
    origins = np.empty(int(before[-1]) + len(at), dtype=np.int64)
    origins[of_base[kept[:-1]]] = numbers[kept[:-1]]
    origins[of_added] = -1 - np.arange(len(at))
    tool_count = int(before[count]) + len(tools)
    return Numbering(of_base=of_base, of_added=of_added, origins=origins, tool_count=tool_count, added_tools=len(tools))
