"""Noise in a graph (appendix B.6 of the Knowledge Graph of Thoughts): near-duplicates, and what joins to nothing that is asked.

Both functions are pure: they return what was removed with the states before and after, so that a run journals them and can
take them back.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from planners.stores.graph_state import canonical_state, state_rows
from planners.stores.property_graph import GraphEdge, GraphNode, GraphState, Operation, Properties, ReplaceGraph, Value
from planners.stores.property_rows import PropertyRows
from planners.stores.property_values import value_key

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
    merged: dict[str, str] = {}
    for nodes in _comparable(state.nodes):
        kept: list[tuple[GraphNode, dict[str, object]]] = []
        for node in nodes:
            plain = {name: _plain(value) for name, value in node.properties.items()}
            other = next((first for first, before in kept[:_COMPARED] if _near(before, plain)), None)
            if other is None:
                kept.append((node, plain))
            else:
                merged[node.id] = other.id
    return _removal(state, set(merged), merged)


def remove_irrelevant(state: GraphState, asked: Iterable[str]) -> NoiseRemoval:
    """Remove nodes that neither hold what is asked nor join two nodes that do.

    A node holds what is asked when its label, the name of a property, or a value names it. Where no node does, nothing is
    removed: then it is not known what matters.

    :param asked: names and values of the task: ``award number``, ``Ann Ott``.
    """
    terms = [term for term in (_words(term) for term in asked) if term]
    holding = {node.id for node in state.nodes if any(_holds(node, term) for term in terms)}
    if not holding:
        return _removal(state, set(), {})
    around: dict[str, set[str]] = defaultdict(set)
    for edge in state.edges:
        if edge.source != edge.target:
            around[edge.source].add(edge.target)
            around[edge.target].add(edge.source)
    left = {node.id for node in state.nodes}
    left &= _joined_to(holding, around)
    ends = [node for node in left if node not in holding and len(around[node]) < 2]
    while ends:
        node = ends.pop()
        left.discard(node)
        for other in around.pop(node, set()):
            around[other].discard(node)
            if other not in holding and len(around[other]) < 2 and other in left:
                ends.append(other)
    return _removal(state, {node.id for node in state.nodes} - left, {})


def _joined_to(holding: set[str], around: Mapping[str, set[str]]) -> set[str]:
    found, waiting = set(holding), list(holding)
    while waiting:
        for other in around.get(waiting.pop(), set()) - found:
            found.add(other)
            waiting.append(other)
    return found


def _removal(state: GraphState, gone: set[str], merged: Mapping[str, str]) -> NoiseRemoval:
    if not gone:
        return NoiseRemoval(before=state, after=state, merged={})
    edges: list[GraphEdge] = []
    seen: set[tuple[object, ...]] = set()
    for edge in sorted(state.edges, key=lambda edge: edge.source in gone or edge.target in gone):
        moved = replace(edge, source=merged.get(edge.source, edge.source), target=merged.get(edge.target, edge.target))
        key = (moved.type, moved.source, moved.target, _key(moved.properties))
        is_twin = moved != edge and key in seen
        if not is_twin and moved.source not in gone and moved.target not in gone:
            edges.append(moved)
        seen.add(key)
    nodes = tuple(node for node in state.nodes if node.id not in gone)
    rows = state_rows(GraphState(nodes=nodes, edges=tuple(edges)))
    removed = tuple(node for node in state.nodes if node.id in gone)
    return NoiseRemoval(before=state, after=_state(rows), removed=removed, merged=merged)


def _state(rows: PropertyRows) -> GraphState:
    return canonical_state(rows.nodes, rows.edges.values())


def _comparable(nodes: Sequence[GraphNode]) -> list[list[GraphNode]]:
    """Return nodes that can be equal: of one label, with the same names, numbers and digits."""
    groups: dict[tuple[object, ...], list[GraphNode]] = defaultdict(list)
    for node in nodes:
        exact = tuple((name, _exact_part(value)) for name, value in sorted(node.properties.items()))
        if exact:
            groups[(node.label, exact)].append(node)
    return [group for group in groups.values() if len(group) > 1]


def _exact_part(value: Value) -> tuple[object, ...]:
    """Return what of a value must be equal: of a text its digits."""
    if isinstance(value, str):
        return ("text", tuple(re.findall(r"[-+]?\d+(?:[.,]\d+)*", value)))
    return value_key(value)


def _plain(value: Value) -> object:
    """Return a text without case, with single spaces, and without signs around it."""
    return (
        " ".join(unicodedata.normalize("NFKC", value).casefold().split()).strip("\"'“”‘’.,;:!? ")
        if isinstance(value, str)
        else value
    )


def _words(text: str) -> str:
    """Return the words of a text in small letters, one space between them."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold().replace("_", " ")))


def _near(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return all(_near_text(value, other[name]) if isinstance(value, str) else True for name, value in one.items())


def _near_text(one: str, other: object) -> bool:
    if one == other:
        return bool(one)
    if not isinstance(other, str) or min(len(one), len(other)) < LONG_TEXT:
        return False
    matcher = SequenceMatcher(None, _words(one), _words(other), autojunk=False)
    return matcher.real_quick_ratio() >= NEAR_EQUAL <= matcher.quick_ratio() and matcher.ratio() >= NEAR_EQUAL


def _holds(node: GraphNode, term: str) -> bool:
    texts = [node.label, *node.properties, *map(str, _scalars(node.properties.values()))]
    return any(f" {term} " in f" {_words(text)} " for text in texts)


def _scalars(values: Iterable[Value]) -> Iterable[object]:
    for value in values:
        yield from value if isinstance(value, tuple) else (value,)


def _key(properties: Properties) -> tuple[object, ...]:
    return tuple((name, value_key(value)) for name, value in sorted(properties.items()))
