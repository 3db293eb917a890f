"""The summary of a graph: counts by type and a small preview, as JSON with the fields of appendix A.4 of the paper; of bounded size."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from planners.graphseek.results.result import GraphPart, ResultEdge, ResultNode
from planners.graphseek.results.shown_cell import CUT, on_one_line, shown_text
from planners.graphseek.results.table_summary import fits
from planners.stores.property_graph import Properties

__all__ = ["graph_summary"]

_TITLE_TEXTS = 4  # a title may have as many characters as this number of texts


@dataclass(frozen=True, slots=True)
class _Detail:
    """How much is shown; ``text`` is characters of a name or a value."""

    nodes: int
    properties: int
    text: int
    types: int
    notes: int


# From much to little; the first that fits is taken. Tried on graphs of 1 to 2,000 nodes with 1 to 40 properties.
_DETAILS = (
    _Detail(8, 4, 60, 20, 4),
    _Detail(5, 4, 40, 12, 3),
    _Detail(5, 2, 24, 8, 3),
    _Detail(3, 1, 16, 5, 2),
    _Detail(2, 1, 8, 3, 1),
    _Detail(0, 0, 8, 1, 0),
)


def graph_summary(handle: str, title: str, part: GraphPart, *, cut: bool, notes: Sequence[str]) -> str:
    """Return the summary of a graph."""
    text = ""
    for detail in _DETAILS:
        text = on_one_line(json.dumps(_fields(handle, title, part, cut, notes, detail), ensure_ascii=False))
        if fits(text):
            break
    return text


def _fields(
    handle: str, title: str, part: GraphPart, cut: bool, notes: Sequence[str], detail: _Detail
) -> dict[str, Any]:
    most = _TITLE_TEXTS * detail.text
    said = ["There was more: the graph is cut."] if cut else []
    return {
        "summary": shown_text(title, most),
        "graph_handle": handle,
        "preview_graph_stats": {
            "nodes": len(part.nodes),
            "relationships": len(part.edges),
            "node_types": _counts((each.type for each in part.nodes), detail),
            "relationship_types": _counts((each.type for each in part.edges), detail),
        },
        "preview_graph": _preview(part, detail),
        "notes": said + [shown_text(note, most) for note in notes[: detail.notes]],
    }


def _counts(types: Iterable[str], detail: _Detail) -> dict[str, int]:
    """Return the most frequent types with their counts; the others are counted together."""
    ranked = sorted(Counter(types).items(), key=lambda pair: (-pair[1], pair[0]))
    counts = {shown_text(name, detail.text): count for name, count in ranked[: detail.types]}
    if rest := ranked[detail.types :]:
        counts[f"{len(rest)} more types"] = sum(count for _, count in rest)
    return counts


def _preview(part: GraphPart, detail: _Detail) -> dict[str, Any]:
    nodes, edges = _chosen(part, detail.nodes)
    ids = {node.id: f"n{at}" for at, node in enumerate(nodes, 1)}
    return {
        "nodes": [
            {"id": ids[node.id], "type": shown_text(node.type, detail.text), **_some(node.properties, detail)}
            for node in nodes
        ],
        "relationships": [
            {"type": shown_text(edge.type, detail.text), "source": ids[edge.source], "target": ids[edge.target]}
            for edge in edges
        ],
    }


def _chosen(part: GraphPart, most: int) -> tuple[list[ResultNode], list[ResultEdge]]:
    """Return ``most`` nodes and as many relationships among them: first one of each kind of relationship, then in order."""
    known = {node.id: node for node in part.nodes}
    joined = [edge for edge in part.edges if edge.source in known and edge.target in known]
    first: dict[tuple[str, str, str], ResultEdge] = {}
    for edge in joined:
        first.setdefault((edge.type, known[edge.source].type, known[edge.target].type), edge)
    chosen: dict[str, None] = {}
    for edge in [*first.values(), *joined]:
        if len(chosen) == most:
            break
        ends = dict.fromkeys((edge.source, edge.target))
        if len(chosen | ends) <= most:
            chosen |= ends
    chosen |= dict.fromkeys([node.id for node in part.nodes if node.id not in chosen][: most - len(chosen)])
    inside = [edge for edge in joined if edge.source in chosen and edge.target in chosen]
    return [known[each] for each in chosen], inside[:most]


def _some(properties: Properties, detail: _Detail) -> dict[str, Any]:
    """Return a few properties, names first."""
    ranked = sorted(properties.items(), key=lambda pair: not pair[0].casefold().endswith(("name", "title", "label")))
    return {
        shown_text(f"{name}_" if name in ("id", "type") else name, detail.text): _shown(value, detail.text)
        for name, value in ranked[: detail.properties]
    }


def _shown(value: Any, most: int) -> Any:
    if isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else text[:most] + CUT
