"""The census: what the graph has, how sure it is of what it concluded, and which tools nothing leads to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.graph_quality.hubs import HUB_SHARE, hubs
from retrieval.snapshot.reader import Snapshot

__all__ = ["DERIVED", "OWN_DOCUMENT", "census"]

DERIVED = ("supplies", "resolved_by")
"""Predicates that egotools concludes, with a confidence of its own."""
OWN_DOCUMENT = ("has_parameter", "returns", "has_entity", "has_capability")
"""Predicates from a tool to what its own parameters and description say."""
_EXAMPLES = 10
_QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


def census(snapshot: Snapshot) -> dict[str, Any]:
    """Counts of nodes and edges, confidences of derived edges, tools without edges, and the nodes that touch most tools."""
    counts = snapshot.manifest["counts"]
    return {
        "tools": snapshot.tool_count,
        "nodes": dict(counts["nodes"]),
        "edges": dict(counts["edges"]),
        "confidences": {name: quartiles for name in DERIVED if (quartiles := _confidences(snapshot, name))},
        "isolated_tools": _isolated(snapshot),
        "tools_without_tool_edge": _without_tool_edge(snapshot),
        "hubs": _hubs(snapshot),
    }


def _confidences(snapshot: Snapshot, predicate: str) -> list[float]:
    """Least, quartiles and greatest confidence of a predicate's edges; empty where there are none."""
    if predicate not in snapshot.predicates:
        return []
    graph = snapshot.adjacency
    confidences = graph.confidences[graph.predicates == snapshot.predicates.index(predicate)]
    return [round(float(value), 4) for value in np.quantile(confidences, _QUARTILES)] if len(confidences) else []


def _isolated(snapshot: Snapshot) -> dict[str, Any]:
    """The tools whose only edges lead to their own parameters and to what their own description speaks of."""
    own = [snapshot.predicates.index(name) for name in OWN_DOCUMENT if name in snapshot.predicates]
    return _untouched(snapshot, ~np.isin(snapshot.adjacency.predicates, own))


def _without_tool_edge(snapshot: Snapshot) -> dict[str, Any]:
    graph, tools = snapshot.adjacency, snapshot.tool_count
    return _untouched(snapshot, (graph.heads < tools) & (graph.tails < tools) & (graph.heads != graph.tails))


def _untouched(snapshot: Snapshot, edges: NDArray[np.bool_]) -> dict[str, Any]:
    """How many tools stand at no edge of the mask, with examples."""
    graph = snapshot.adjacency
    touched = np.zeros(len(snapshot.nodes), dtype=bool)
    touched[graph.heads[edges]] = True
    touched[graph.tails[edges]] = True
    alone = np.flatnonzero(~touched[: snapshot.tool_count])
    return {"count": len(alone), "examples": [snapshot.tool_id(int(tool)) for tool in alone[:_EXAMPLES]]}


def _hubs(snapshot: Snapshot) -> dict[str, Any]:
    """The number of hubs, and the nodes, tools and others apart, with most edges to tools."""
    tools = snapshot.tool_count
    degrees = snapshot.tool_degrees
    return {
        "least_share": HUB_SHARE,
        "count": int(hubs(snapshot).sum()),
        "nodes": _most(snapshot, degrees[tools:], tools),
        "tools": _most(snapshot, degrees[:tools], 0),
    }


def _most(snapshot: Snapshot, degrees: NDArray[np.int32], first: int) -> list[list[Any]]:
    """``[node key, edges to tools]`` of the nodes from number ``first`` with the most, ties by number."""
    order = np.argsort(-degrees, kind="stable")[:_EXAMPLES]
    return [[snapshot.node_key(first + int(at)), int(degrees[at])] for at in order if degrees[at]]
