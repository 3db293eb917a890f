"""ToolLinks: the edges of one kind between the tools of a catalogue, indexed by their ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from datagen.tool_path import PathEdge

__all__ = ["ToolLinks"]


@dataclass(frozen=True)
class ToolLinks:
    """Edges in a fixed order."""

    edges: tuple[PathEdge, ...] = ()

    def __len__(self) -> int:
        return len(self.edges)

    def __iter__(self) -> Iterator[PathEdge]:
        return iter(self.edges)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of tools, (source, target), that an edge connects."""
        return frozenset((edge.source, edge.target) for edge in self.edges)

    def out_of(self, tool_id: str) -> tuple[PathEdge, ...]:
        """Return the outgoing edges of a tool, in order."""
        return self._by_source.get(tool_id, ())

    def into(self, tool_id: str) -> tuple[PathEdge, ...]:
        """Return the incoming edges of a tool, in order."""
        return self._by_target.get(tool_id, ())

    def between(self, source: str, target: str) -> tuple[PathEdge, ...]:
        """Return the edges from one tool to another, in order."""
        return tuple(edge for edge in self.out_of(source) if edge.target == target)

    @cached_property
    def _by_source(self) -> Mapping[str, tuple[PathEdge, ...]]:
        return self._grouped(lambda edge: edge.source)

    @cached_property
    def _by_target(self) -> Mapping[str, tuple[PathEdge, ...]]:
        return self._grouped(lambda edge: edge.target)

    def _grouped(self, end: Callable[[PathEdge], str]) -> Mapping[str, tuple[PathEdge, ...]]:
        found: dict[str, list[PathEdge]] = defaultdict(list)
        for edge in self.edges:
            found[end(edge)].append(edge)
        return {tool: tuple(edges) for tool, edges in found.items()}
