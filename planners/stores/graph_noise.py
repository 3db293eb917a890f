"""Noise in a graph (appendix B.6 of the Knowledge Graph of Thoughts): near-duplicates, and what joins to nothing that is asked.

Both functions are pure: they return what was removed with the states before and after, so that a run journals them and can
take them back.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

import networkx as nx

from planners.stores.property_graph import (
    GraphEdge,
    GraphNode,
    GraphState,
    Operation,
    ReplaceGraph,
    Value,
    state_of_rows,
    state_rows,
    value_key,
)

__all__ = ["NoiseRemoval", "merge_duplicates", "remove_irrelevant"]

NEAR_EQUAL = 0.92
"""Similarity of two long texts from which they are one. Of the pairs of ``tests/planners/stores/test_graph_noise.py`` that are
long and have the same numbers, the four that are one quote have 0.944 to 1.0, and the one that is not has 0.638. It is nearer to the
former: what is merged wrongly is lost to the answer, a twin that stays costs a row.
"""
LONG_TEXT = 24
"""Characters from which a text can be nearly equal: shorter ones (names, codes) must be equal."""
_COMPARED = 200
"""Nodes of a label that are compared with each other at most: more are no notes of one task; it bounds the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRemoval:
    """What was removed.

    :param removed: nodes of the state before that are not in the one after.
    :param merged: node → the node that stands for it, by their ids before.
    """

    before: GraphState
    after: GraphState
    removed: tuple[GraphNode, ...] = ()
    merged: Mapping[str, str]

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What makes the graph the one without noise."""
        return (ReplaceGraph(state=self.after),) if self.removed else ()

    @property
    def inverse(self) -> tuple[Operation, ...]:
        """What takes it back."""
        return (ReplaceGraph(state=self.before),) if self.removed else ()


def merge_duplicates(state: GraphState) -> NoiseRemoval:
    """Merge nodes of one label whose properties are nearly equal; the first in the order of the state stands for them.

    Properties have the same names, numbers and truth values are equal, short texts equal but for case, spaces and signs around them, and
    long texts similar with the same numbers. Edges of the merged go to the one that stays; one that is then there twice goes.
    """
    kept: dict[object, list[GraphNode]] = defaultdict(list)
    merged: dict[str, str] = {}
    for node in state.nodes:
        exact = tuple((name, _exact_part(value)) for name, value in sorted(node.properties.items()))
        group = kept[node.label, exact] if exact else []
        other = next((first for first in group[:_COMPARED] if _are_near(first, node)), None)
        if other is None:
            group.append(node)
        else:
            merged[node.id] = other.id
    return _removal(state, set(merged), merged)


def remove_irrelevant(state: GraphState, asked: Iterable[str]) -> NoiseRemoval:
    """Remove nodes that neither hold what is asked nor join two nodes that do.

    A node holds what is asked when its label, the name of a property, or a value names it. Where no node does, nothing is
    removed: then it is not known what matters.

    :param asked: names and values of the task: ``award number``, ``Ann Ott``.
    """
    terms = [term for term in map(_words, asked) if term]
    graph = nx.Graph((edge.source, edge.target) for edge in state.edges if edge.source != edge.target)
    graph.add_nodes_from(node.id for node in state.nodes)
    holding = {node.id for node in state.nodes if any(_holds(node, term) for term in terms)}
    if holding:
        for part in list(nx.connected_components(graph)):
            if holding.isdisjoint(part):
                graph.remove_nodes_from(part)
        while ends := [node for node in graph if node not in holding and graph.degree(node) < 2]:
            graph.remove_nodes_from(ends)
    return _removal(state, {node.id for node in state.nodes} - set(graph), {})


def _removal(state: GraphState, gone: set[str], merged: Mapping[str, str]) -> NoiseRemoval:
    if not gone:
        return NoiseRemoval(before=state, after=state, merged={})
    edges: list[GraphEdge] = []
    seen: set[object] = set()
    for edge in sorted(state.edges, key=lambda edge: edge.source in gone or edge.target in gone):
        moved = replace(edge, source=merged.get(edge.source, edge.source), target=merged.get(edge.target, edge.target))
        values = tuple((name, value_key(value)) for name, value in sorted(moved.properties.items()))
        key = (moved.type, moved.source, moved.target, values)
        is_twin = moved != edge and key in seen
        if not is_twin and gone.isdisjoint((moved.source, moved.target)):
            edges.append(moved)
        seen.add(key)
    left = GraphState(nodes=tuple(node for node in state.nodes if node.id not in gone), edges=tuple(edges))
    removed = tuple(node for node in state.nodes if node.id in gone)
    return NoiseRemoval(before=state, after=state_of_rows(state_rows(left)), removed=removed, merged=merged)


def _exact_part(value: Value) -> object:
    """Return what of a value must be equal: of a text its digits."""
    return tuple(re.findall(r"[-+]?\d+(?:[.,]\d+)*", value)) if isinstance(value, str) else value_key(value)


def _are_near(one: GraphNode, other: GraphNode) -> bool:
    """Say whether the texts of two nodes are nearly equal; that the rest is equal is known."""
    pairs = ((value, other.properties[name]) for name, value in one.properties.items())
    return all(_near_text(value, str(twin)) for value, twin in pairs if isinstance(value, str))


def _near_text(one: str, other: str) -> bool:
    plain = [
        " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip("\"'“”‘’.,;:!? ")
        for text in (one, other)
    ]
    if plain[0] == plain[1]:
        return bool(plain[0])
    if min(map(len, plain)) < LONG_TEXT:
        return False
    matcher = SequenceMatcher(None, _words(one), _words(other), autojunk=False)
    return matcher.real_quick_ratio() >= NEAR_EQUAL <= matcher.quick_ratio() and matcher.ratio() >= NEAR_EQUAL


def _words(text: str) -> str:
    """Return the words of a text in small letters, one space between them."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold().replace("_", " ")))


def _holds(node: GraphNode, term: str) -> bool:
    values = (value if isinstance(value, tuple) else (value,) for value in node.properties.values())
    texts = [node.label, *node.properties, *(str(member) for members in values for member in members)]
    return any(f" {term} " in f" {_words(text)} " for text in texts)
