"""Controls: ``default`` over a graph that says nothing, or over no graph. If it ranks as well, it is not the graph that helps.

They are neither served nor published with the ablations; ``python -m research.unseen`` measures them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Encoder
from retrieval.graph_retriever import GraphRetriever
from retrieval.index.adjacency import make_adjacency
from retrieval.index.bm25 import ngrams, whole_text
from retrieval.index.lookup import PrefixIndex
from retrieval.ranking.weights import SHIPPED, RankingWeights
from retrieval.retriever import DEFAULT, DEPENDENCIES, RetrievalConfig, Retriever
from retrieval.snapshot.reader import DERIVED, Snapshot

__all__ = ["CONTROLS", "make_control", "ngram_index", "rewired"]

CONTROLS = ("default-rewired-tools", "default-rewired-entities", "default-ngram-index")
"""Edges between tools rewired; all other edges rewired; the n-grams of the tools' own text instead of a graph."""
_ROUNDS = 50  # of swaps that repair loops and double edges; the few that are left then stay

# Support by n-grams is all that the control has: no other node, no candidate and no edge between tools.
_NGRAMS_ONLY = RetrievalConfig(
    semantic_entries=False, ego_candidates=False, resolver_boost=False, dependency_expansion=False
)


def make_control(
    name: str, snapshot: Snapshot, encoder: Encoder, *, weights: RankingWeights = SHIPPED, seed: int = 0
) -> Retriever:
    """Return a control of :data:`CONTROLS`. It is to be asked without filters, and for no explanation: what it would show is not so.

    :param seed: of the rewiring.
    :raises KeyError: for an unknown name.
    """
    view, config = {
        "default-rewired-tools": lambda: (rewired(snapshot, seed=seed, tools=True), DEFAULT),
        "default-rewired-entities": lambda: (rewired(snapshot, seed=seed, tools=False), DEFAULT),
        "default-ngram-index": lambda: (ngram_index(snapshot), _NGRAMS_ONLY),
    }[name]()
    return GraphRetriever(view, encoder, name=name, config=config, weights=weights)


def rewired(snapshot: Snapshot, *, seed: int, tools: bool) -> Snapshot:
    """Return the snapshot with edges led to other nodes at random: each node keeps its number of edges of each predicate in either
    direction (the configuration model), and each edge its confidence.

    :param tools: whether the edges between tools are rewired, or all others.
    """
    adjacency, count = snapshot.adjacency, snapshot.tool_count
    heads, tails = np.asarray(adjacency.heads), np.array(adjacency.tails)
    between = np.isin(adjacency.predicates, [snapshot.predicates.index(one) for one in _known(snapshot, DEPENDENCIES)])
    # Only nodes of one kind change places, so that an entity stays an entity.
    kinds = np.asarray(adjacency.predicates, dtype=np.int64) * 4 + (heads < count) * 2 + (tails < count)
    generator = np.random.default_rng(seed)
    for kind in np.unique(kinds[between == tools]):
        edges = np.flatnonzero((kinds == kind) & (between == tools))
        tails[edges] = _shuffled(heads[edges], tails[edges], generator)
    view = copy.copy(snapshot)
    for cached in DERIVED:
        vars(view).pop(cached, None)
    view.adjacency = make_adjacency(
        len(snapshot.nodes),
        heads=heads,
        tails=tails,
        predicates=np.asarray(adjacency.predicates),
        confidences=np.asarray(adjacency.confidences),
    )
    return view


def _known(snapshot: Snapshot, predicates: frozenset[str]) -> list[str]:
    return sorted(predicates & set(snapshot.predicates))


def _shuffled(heads: NDArray[np.int32], tails: NDArray[np.int32], generator: np.random.Generator) -> NDArray[np.int32]:
    """Return the tails in random order, with as few loops and double edges as swaps can reach."""
    tails = generator.permutation(tails)
    for _ in range(_ROUNDS):
        pairs = heads.astype(np.int64) << 32 | tails
        _, first = np.unique(pairs, return_index=True)
        faulty = np.ones(len(tails), dtype=bool)
        faulty[first] = False
        faulty |= heads == tails
        places = np.flatnonzero(faulty)
        if not len(places):
            break
        for place, other in zip(places, generator.integers(0, len(tails), size=len(places)), strict=True):
            tails[[place, other]] = tails[[other, place]]
    return tails


def ngram_index(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with an n-gram index of the tools' text in the place of its graph: a node for each n-gram, and an edge
    from it to each tool whose title, description or parameters have it.
    """
    nodes: dict[str, int] = {}
    heads: list[int] = []
    tails: list[int] = []
    for number, tool in enumerate(snapshot.tools):
        for ngram in ngrams((whole_text(tool),), snapshot.abbreviations):
            heads.append(nodes.setdefault(ngram, snapshot.tool_count + len(nodes)))
            tails.append(number)
    order = np.argsort(heads, kind="stable")
    view = copy.copy(snapshot)
    view.adjacency = make_adjacency(
        snapshot.tool_count + len(nodes),
        heads=np.asarray(heads, dtype=np.int32)[order],
        tails=np.asarray(tails, dtype=np.int32)[order],
        predicates=np.zeros(len(heads), dtype=np.uint8),
        confidences=np.ones(len(heads), dtype=np.float32),
    )
    # All are of the graph's nodes in the snapshot.
    degrees = view.adjacency.tool_degrees(snapshot.tool_count, snapshot.tool_count + len(nodes))
    no_systems = np.full(snapshot.tool_count, -1, dtype=np.int64)
    vars(view).update(ngrams=_NodesOfNgrams(nodes), tool_degrees=degrees, predicates=(), identified=PrefixIndex(()))
    vars(view).update(tool_systems=no_systems, system_count=0)
    return view


class _NodesOfNgrams:
    """The part of a :class:`~retrieval.index.lookup.Lookup` that entry nodes are found by."""

    def __init__(self, nodes: Mapping[str, int]) -> None:
        self._nodes = nodes

    def many(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the node of each n-gram, int32 [0 or 1]."""
        return [np.asarray([self._nodes[one]] if one in self._nodes else [], dtype=np.int32) for one in texts]
