"""Why a tool was returned: the entry nodes, the edges walked from them, and who can supply its inputs."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.entry import EntryNode
from retrieval.retriever import EdgeWalked, EntryMatch, Supply
from retrieval.snapshot import Snapshot

__all__ = ["entry_reasons", "supply_reasons"]

_MAX_ENTRIES = 8
_MAX_EDGES = 12
_SUPPLYING = ("supplies", "resolved_by", "depends_on")


def entry_reasons(
    snapshot: Snapshot, tool: int, entries: Sequence[EntryNode]
) -> tuple[tuple[EntryMatch, ...], tuple[EdgeWalked, ...]]:
    """The entry nodes that led to a tool, and the edges between them and it; the eight best and the twelve most telling."""
    entered = {entry.node for entry in entries}
    edges = [
        edge
        for edge in _edges_at(snapshot, tool)
        if _other_end(snapshot, edge, tool) in entered
        and snapshot.adjacency.head(edge) != snapshot.adjacency.tail(edge)
    ]
    led = {_other_end(snapshot, edge, tool) for edge in edges} | ({tool} & entered)
    matches = [entry for entry in entries if entry.node in led]
    matches.sort(key=lambda entry: (entry.kind != "ngram", -entry.score, entry.node))
    degrees = snapshot.tool_degrees  # what few tools touch says more than what many do
    edges.sort(key=lambda edge: (int(degrees[_other_end(snapshot, edge, tool)]), edge))
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
        tuple(_walked(snapshot, edge) for edge in edges[:_MAX_EDGES]),
    )


def supply_reasons(snapshot: Snapshot, tool: int, returned: Sequence[int]) -> tuple[Supply, ...]:
    """For each required input of a tool, the best returned tool that can supply it; unfilled inputs are named too.

    Inputs that a derived or declared edge names are listed as well when they are optional.
    """
    others = set(returned) - {tool}
    best: dict[str, Supply] = {}
    for edge in _edges_at(snapshot, tool):
        other = _other_end(snapshot, edge, tool)
        if other not in others:
            continue
        predicate = snapshot.predicates[snapshot.adjacency.predicates[edge]]
        # supplies points at the tool that is filled; the other two point away from it.
        fills = (
            snapshot.adjacency.tail(edge) == tool if predicate == "supplies" else snapshot.adjacency.head(edge) == tool
        )
        if predicate not in _SUPPLYING or not fills:
            continue
        supply = _supply(snapshot, edge, other, predicate)
        known = best.get(supply.parameter)
        if known is None or (supply.confidence, known.tool_id) > (known.confidence, supply.tool_id):
            best[supply.parameter] = supply
    required = [parameter.name for parameter in snapshot.tool(tool).parameters if parameter.required]
    listed = [best.pop(name, Supply(parameter=name)) for name in required]
    return (*listed, *(best[name] for name in sorted(best)))


def _supply(snapshot: Snapshot, edge: int, other: int, kind: str) -> Supply:
    row = snapshot.edges[edge]
    return Supply(
        parameter=row.get("parameter", ""),
        tool_id=snapshot.tool_id(other),
        output=row.get("output", ""),
        kind=kind,
        confidence=round(float(snapshot.adjacency.confidences[edge]), 6),
    )


def _edges_at(snapshot: Snapshot, node: int) -> list[int]:
    adjacency = snapshot.adjacency
    return [*map(int, adjacency.out_edges(node)), *map(int, adjacency.in_edges(node))]


def _other_end(snapshot: Snapshot, edge: int, node: int) -> int:
    tail = snapshot.adjacency.tail(edge)
    return tail if tail != node else snapshot.adjacency.head(edge)


def _walked(snapshot: Snapshot, edge: int) -> EdgeWalked:
    adjacency = snapshot.adjacency
    return EdgeWalked(
        head=snapshot.node_key(adjacency.head(edge)),
        predicate=snapshot.predicates[adjacency.predicates[edge]],
        tail=snapshot.node_key(adjacency.tail(edge)),
        confidence=round(float(adjacency.confidences[edge]), 6),
    )
