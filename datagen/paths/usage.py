"""Usage: how often tools and groups stand in paths, so that the least used one comes next, group by group."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.tool_path import ToolPath

__all__ = ["Anchors", "Usage", "shuffled_ranks"]


class Usage:
    """How often tools, groups and pairs of tools stand in paths."""

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self.group: Mapping[str, str] = {tool.id: catalogue.group(tool.id) for tool in catalogue.tools}
        self.tools: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self._size = Counter(self.group.values())
        self._groups: Counter[str] = Counter()

    def add(self, path: ToolPath) -> None:
        """Count a path."""
        for tool in path.tools:
            self.tools[tool] += 1
            self._groups[self.group[tool]] += 1
        self.pairs.update(path.rp_pairs)

    def share(self, group: str) -> float:
        """How often a tool of the group was used, by the number of its tools."""
        return self._groups[group] / self._size[group]


class Anchors:
    """The tools around which a path may be made, the least used of the least used group first.

    Counts only grow, so the top of a heap is right when it is compared again before it is taken.
    """

    def __init__(self, tools: Iterable[str], usage: Usage, rank: Mapping[str, int]) -> None:
        self._usage = usage
        self._rank = rank
        self._tools: dict[str, list[tuple[int, int, str]]] = {}
        for tool in tools:
            self._tools.setdefault(usage.group[tool], []).append((usage.tools[tool], rank[tool], tool))
        for heap in self._tools.values():
            heapq.heapify(heap)
        self._groups = [(usage.share(group), heap[0][1], group) for group, heap in self._tools.items()]
        heapq.heapify(self._groups)

    def next(self) -> str | None:
        """The next tool, which is then removed; None when there is none."""
        while self._groups:
            share, rank, group = heapq.heappop(self._groups)
            if not self._tools[group]:
                continue
            if (now := self._usage.share(group)) > share:
                heapq.heappush(self._groups, (now, rank, group))
                continue
            tool = self._least_used(self._tools[group])
            if self._tools[group]:
                heapq.heappush(self._groups, (share, rank, group))
            return tool
        return None

    def put_back(self, tool: str) -> None:
        """Add a tool again."""
        group = self._usage.group[tool]
        was_empty = not self._tools.setdefault(group, [])
        heapq.heappush(self._tools[group], (self._usage.tools[tool], self._rank[tool], tool))
        if was_empty:
            heapq.heappush(self._groups, (self._usage.share(group), self._rank[tool], group))

    def _least_used(self, heap: list[tuple[int, int, str]]) -> str:
        while True:
            count, rank, tool = heapq.heappop(heap)
            if (now := self._usage.tools[tool]) == count:
                return tool
            heapq.heappush(heap, (now, rank, tool))


def shuffled_ranks(tools: Sequence[str], rng: random.Random) -> dict[str, int]:
    """Tool → its position in a random order."""
    shuffled = sorted(tools)
    rng.shuffle(shuffled)
    return {tool: position for position, tool in enumerate(shuffled)}
