"""Graph statistics: counts of nodes and edges, confidences of derived edges, tools without edges, hubs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eval.graph_quality.hubs import HUB_SHARE, hubs
from retrieval.snapshot.reader import Snapshot

__all__ = ["GraphStatistics", "Hubs", "NodeDegree", "ToolSample", "graph_statistics"]

_DERIVED = ("supplies", "resolved_by")  # predicates of derived edges, which have a confidence
_OWN_DOCUMENT = (
    "has_parameter",
    "returns",
    "has_entity",
    "has_capability",
)  # from a tool to its own document's content
_EXAMPLES = 10
_QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


class NodeDegree(NamedTuple):
    """A node, by its key, with its number of edges to tools."""

    node: str
    degree: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSample:
    """The number of tools with a property, and the ids of the first ones."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hubs:
    """The nodes with the most edges to tools.

    :param least_share: minimum share of the tools for a hub; ``count``: number of hubs.
    :param nodes: nodes other than tools, most edges first; ``tools``: tools, most edges first.
    """

    least_share: float
    count: int
    nodes: tuple[NodeDegree, ...]
    tools: tuple[NodeDegree, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStatistics:
    """Counts over a tool graph.

    :param nodes: map from type to count; ``edges``: map from predicate to count.
    :param confidences: map from derived predicate to minimum, quartiles and maximum of the confidences, in [0, 1].
    :param isolated_tools: tools whose only edges lead to the content of their own document.
    :param tools_without_tool_edge: tools without an edge to another tool.
    """

    tools: int
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    confidences: Mapping[str, tuple[float, ...]]
    isolated_tools: ToolSample
    tools_without_tool_edge: ToolSample
    hubs: Hubs


def graph_statistics(snapshot: Snapshot) -> GraphStatistics:
    """Compute the statistics of a snapshot's graph."""
    counts = snapshot.manifest.counts
    graph, tools = snapshot.adjacency, snapshot.tool_count
    own = [snapshot.predicates.index(name) for name in _OWN_DOCUMENT if name in snapshot.predicates]
    between_tools = (graph.heads < tools) & (graph.tails < tools) & (graph.heads != graph.tails)
    return GraphStatistics(
        tools=tools,
        nodes=dict(counts.nodes),
        edges=dict(counts.edges),
        confidences={name: quartiles for name in _DERIVED if (quartiles := _confidences(snapshot, name))},
        isolated_tools=_without_edge(snapshot, ~np.isin(graph.predicates, own)),
        tools_without_tool_edge=_without_edge(snapshot, between_tools),
        hubs=Hubs(
            least_share=HUB_SHARE,
            count=int(hubs(snapshot).sum()),
            nodes=_most(snapshot, snapshot.tool_degrees[tools:], tools),
            tools=_most(snapshot, snapshot.tool_degrees[:tools], 0),
        ),
    )


def _confidences(snapshot: Snapshot, predicate: str) -> tuple[float, ...]:
    if predicate not in snapshot.predicates:
        return ()
    graph = snapshot.adjacency
    confidences = graph.confidences[graph.predicates == snapshot.predicates.index(predicate)]
    return tuple(round(float(value), 4) for value in np.quantile(confidences, _QUARTILES)) if len(confidences) else ()


def _without_edge(snapshot: Snapshot, edges: NDArray[np.bool_]) -> ToolSample:
    """Return the tools without an edge of a mask."""
    graph = snapshot.adjacency
    has_edge = np.zeros(len(snapshot.nodes), dtype=bool)
    has_edge[graph.heads[edges]] = True
    has_edge[graph.tails[edges]] = True
    found = np.flatnonzero(~has_edge[: snapshot.tool_count])
    return ToolSample(count=len(found), examples=tuple(snapshot.tool_id(int(tool)) for tool in found[:_EXAMPLES]))


def _most(snapshot: Snapshot, degrees: NDArray[np.int32], first: int) -> tuple[NodeDegree, ...]:
    """Return the nodes, numbered from ``first``, with the most edges to tools; ties by number."""
    order = np.argsort(-degrees, kind="stable")[:_EXAMPLES]
    return tuple(NodeDegree(snapshot.node_key(first + int(at)), int(degrees[at])) for at in order if degrees[at])
