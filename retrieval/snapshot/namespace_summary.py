"""What the tools of each namespace are about: how many there are, and the objects that most of them act on."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from egotools.values import NamespaceSummary
from retrieval.snapshot.reader import Snapshot

__all__ = ["summarize_namespaces"]

_MOST_NAMESPACES = 1_000
_MOST_OBJECTS = 8
_MOST_WORDS, _MOST_CHARS = 4, 60  # the names go into texts for a model: a longer one may be a sentence

_Pairs: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64]]"  # tools and nodes, int64 [pairs] each


def summarize_namespaces(snapshot: Snapshot) -> tuple[NamespaceSummary, ...]:
    """Return the namespaces of the visible tools, most tools first, then by name.

    The objects are those of the edges tool → capability → object: they say what a tool is for, where the entities that its document
    mentions are as often its inputs. A namespace without such edges has the business objects that its documents mention.
    """
    names = [""]
    namespace_of = np.zeros(snapshot.tool_count, dtype=np.int64)
    for name, tools in snapshot.filters.tools_by_value("namespace"):
        namespace_of[tools] = len(names)
        names.append(name)
    counts = np.bincount(namespace_of[snapshot.tool_numbers], minlength=len(names))
    acted_on, mentioned = (
        _names_by_namespace(snapshot, namespace_of, pairs) for pairs in (_acted_on(snapshot), _mentioned(snapshot))
    )
    largest = sorted(np.flatnonzero(counts).tolist(), key=lambda number: (-counts[number], names[number]))
    return tuple(
        NamespaceSummary(
            name=names[number],
            tool_count=int(counts[number]),
            objects=tuple(acted_on.get(number, ()) or mentioned.get(number, ())),
        )
        for number in largest[:_MOST_NAMESPACES]
    )


def _acted_on(snapshot: Snapshot) -> _Pairs:
    """The tools and the objects on which their capabilities are exercised."""
    tools, capabilities = _edges(snapshot, "has_capability")
    heads, objects = _edges(snapshot, "acts_on")  # edges are numbered by head, so the heads ascend
    starts = np.searchsorted(heads, capabilities, side="left")
    lengths = np.searchsorted(heads, capabilities, side="right") - starts
    places = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    return np.repeat(tools, lengths), objects[places]


def _mentioned(snapshot: Snapshot) -> _Pairs:
    return _edges(snapshot, "has_entity")


def _edges(snapshot: Snapshot, predicate: str) -> _Pairs:
    edges = snapshot.adjacency
    number = snapshot.predicates.index(predicate) if predicate in snapshot.predicates else -1
    found = edges.predicates == number
    return edges.heads[found].astype(np.int64), edges.tails[found].astype(np.int64)


def _names_by_namespace(snapshot: Snapshot, namespace_of: NDArray[np.int64], pairs: _Pairs) -> dict[int, list[str]]:
    """Return for each namespace the names of the business objects of most of its tools; equal ones by name."""
    unique = np.unique(np.stack(pairs, axis=1), axis=0)
    tools, nodes = unique[unique[:, 0] < snapshot.tool_count].T
    found, counts = np.unique(np.stack((namespace_of[tools], nodes), axis=1), axis=0, return_counts=True)
    names: defaultdict[int, list[str]] = defaultdict(list)
    for row in np.lexsort((found[:, 1], -counts, found[:, 0])):  # nodes are numbered by their keys
        namespace, node = map(int, found[row])
        if len(names[namespace]) < _MOST_OBJECTS:
            type_, _, name = snapshot.node_key(node).partition(":")
            if type_ == "business_object" and len(name) <= _MOST_CHARS and len(name.split()) <= _MOST_WORDS:
                names[namespace].append(name)
    return dict(names)
