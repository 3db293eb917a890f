"""The depth-first tree of a query graph: which edges the traversal goes along, and which close a cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from planners.query.query_graph import EdgeConstraint, QueryGraph

__all__ = ["Branch", "Own", "SearchTree", "Task", "distances", "search_tree"]


@dataclass(frozen=True, slots=True)
class Branch:
    """An edge of the tree, from a variable to one that is entered from it."""

    edge: EdgeConstraint
    parent: str
    child: str


@dataclass(frozen=True, slots=True)
class Own:
    """What binds a variable itself: its filters, or that it is the user or an interval."""

    var: str


Task: TypeAlias = Own | Branch
"""What is to be applied to a variable."""


@dataclass(frozen=True, slots=True)
class SearchTree:
    """The tree.

    :param branches: variable → its branches, in the order of the graph.
    :param closing: edges that close a cycle, each once.
    :param below: variable → itself and all that are entered from it.
    :param depth: edges from the root to the deepest leaf.
    """

    root: str
    branches: Mapping[str, tuple[Branch, ...]]
    closing: tuple[EdgeConstraint, ...]
    below: Mapping[str, tuple[str, ...]]
    depth: int


def search_tree(graph: QueryGraph) -> SearchTree:
    """Search a graph depth first from its return variable, the neighbours of a variable in the order of its constraints."""
    branches: dict[str, tuple[Branch, ...]] = {}
    below: dict[str, tuple[str, ...]] = {}
    seen = {graph.return_var}
    used: set[EdgeConstraint] = set()

    def enter(var: str) -> int:
        mine: list[Branch] = []
        deepest = 0
        for edge in graph.edges_of(var):
            child = edge.target if edge.source == var else edge.source
            if child not in seen:
                seen.add(child)
                used.add(edge)
                mine.append(Branch(edge, var, child))
                deepest = max(deepest, 1 + enter(child))
        branches[var] = tuple(mine)
        below[var] = (var, *(one for branch in mine for one in below[branch.child]))
        return deepest

    depth = enter(graph.return_var)
    closing = tuple(edge for edge in dict.fromkeys(graph.edges) if edge not in used)
    return SearchTree(graph.return_var, branches, closing, below, depth)


def distances(graph: QueryGraph) -> dict[str, int]:
    """Return how many edges each variable is away from the return variable, by the shortest way."""
    found, wave = {graph.return_var: 0}, [graph.return_var]
    while wave:
        near = [end for var in wave for edge in graph.edges_of(var) for end in (edge.source, edge.target)]
        wave = [var for var in dict.fromkeys(near) if var not in found]
        found.update(dict.fromkeys(wave, max(found.values()) + 1))
    return found
