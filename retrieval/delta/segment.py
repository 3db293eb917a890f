"""The segment of the tools that changed since a snapshot was built: what the offline pipeline makes of them alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from egotools.usage_lines import UsageLines
from ontology.tool import Tool
from ontology.value_shape import ShapeUse
from retrieval.snapshot.graph_records import EdgeRecord, NodeRecord

__all__ = ["EMPTY", "ChangedTools", "Segment", "SegmentEdge"]

_TOOL = "tool:"


class SegmentEdge(NamedTuple):
    """An edge between two nodes, by their keys; the other end may be a node of the snapshot."""

    head: str
    tail: str
    predicate: str
    confidence: float
    record: EdgeRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTools:
    """What a segment is made of.

    :param tools: changed tools, as they were read, by id.
    :param among: tools of the catalogue that edges may join with them.
    :param abbreviations: those of the catalogue.
    :param usage: versioned name of what makes usage lines, or empty.
    """

    tools: Sequence[Tool]
    among: Sequence[Tool] = ()
    abbreviations: Mapping[str, str] = field(default_factory=dict)
    usage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Tools that were added or replaced, the ids of those that were removed, and the part of the graph that belongs to them.

    :param tools: id → tool.
    :param removed: ids of tools that are gone; no key of ``tools``.
    :param nodes: node key → record, of the tools and of every other node at an edge.
    :param edges: the edges at these tools, and those between other nodes that only their documents state.
    :param shapes: the parameters of these tools whose values have a shape.
    :param usage: id → usage lines; empty where none are made.
    """

    tools: Mapping[str, Tool] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    nodes: Mapping[str, NodeRecord] = field(default_factory=dict)
    edges: tuple[SegmentEdge, ...] = ()
    shapes: tuple[ShapeUse, ...] = ()
    usage: Mapping[str, UsageLines] = field(default_factory=dict)

    @property
    def gone(self) -> frozenset[str]:
        """Ids of the tools of the snapshot that are no longer as it has them: removed and replaced ones."""
        return self.removed | self.tools.keys()

    def then(self, later: Segment) -> Segment:
        """This segment with what a later one changed."""
        gone = later.gone
        same = {id_: tool for id_, tool in self.tools.items() if id_ not in gone}
        known = {(edge.head, edge.tail, edge.record.key) for edge in later.edges}
        kept = (
            edge
            for edge in self.edges
            if (edge.head, edge.tail, edge.record.key) not in known and not _falls(edge, gone, same)
        )
        edges = (*kept, *later.edges)
        nodes = {**self.nodes, **later.nodes}
        tools = {**same, **later.tools}
        ends = {key for edge in edges for key in (edge.head, edge.tail)} | {f"{_TOOL}{id_}" for id_ in tools}
        return Segment(
            tools=tools,
            removed=(self.removed - later.tools.keys()) | later.removed,
            nodes={key: node for key, node in nodes.items() if key in ends},
            edges=edges,
            shapes=(*(use for use in self.shapes if use.tool not in gone), *later.shapes),
            usage={**{id_: lines for id_, lines in self.usage.items() if id_ not in gone}, **later.usage},
        )

    def entities(self) -> Iterator[tuple[str, NodeRecord]]:
        """Yield the nodes that are no tools, by key."""
        yield from ((key, node) for key, node in sorted(self.nodes.items()) if node.type != "tool")


EMPTY = Segment()
"""No change."""


def _falls(edge: SegmentEdge, gone: Collection[str], same: Collection[str]) -> bool:
    """Whether an edge falls with tools that are gone: it has one of them as an end, or no document of the others states it."""
    tools = [key.removeprefix(_TOOL) for key in (edge.head, edge.tail) if key.startswith(_TOOL)]
    if tools:
        return any(tool in gone for tool in tools)
    return not any(place.tool_id in same for place in edge.record.provenance)
