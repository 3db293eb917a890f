"""Hubs: the objects that most tools of a namespace touch. An object of nearly every tool tells none from another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ontology.tool import Tool

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Hub", "find_hubs"]

_LISTED = 20
_MIN_TOOLS = 10
"""Objects of fewer tools are not reported: in a small catalogue each object belongs to most tools."""


class Hub(NamedTuple):
    """An object of many tools of a namespace.

    :param tools: number of the namespace's tools that have it.
    :param share: of the namespace's tools, in (0, 1].
    """

    namespace: str
    entity: str
    tools: int
    share: float


def find_hubs(graph: nx.MultiDiGraph[str], tools: Sequence[Tool]) -> tuple[Hub, ...]:
    """Return the at most 20 objects with most tools in one namespace, the biggest first."""
    sizes = Counter(tool.namespace for tool in tools)
    counts = Counter(
        (tool.namespace, graph.nodes[key]["id"])
        for tool in tools
        for key in graph.successors(f"tool:{tool.id}")
        if graph.nodes[key]["type"] == "business_object"
    )
    hubs = (
        Hub(namespace, entity, count, round(count / sizes[namespace], 3))
        for (namespace, entity), count in counts.items()
        if count >= _MIN_TOOLS
    )
    return tuple(sorted(hubs, key=lambda hub: (-hub.tools, hub.namespace, hub.entity))[:_LISTED])
