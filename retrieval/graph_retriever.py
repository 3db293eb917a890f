"""Ego graph retrieval: the paper's algorithm 2, and what egotools adds to it.

Preset ``paper`` is the algorithm as printed. Preset ``default`` widens the candidates by the best tools of text search,
so that a request that touches no useful node loses nothing against a flat hybrid, lets the ensemble speak for the tools
in it, and completes the answer with the tools that resolve the identifiers its best tools need. Both are one retriever
with other switches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Encoder
from retrieval.answer import Stages, respond
from retrieval.complete import complete
from retrieval.ego import ensemble_tools, support
from retrieval.entry import EntryNode, ngram_entries, semantic_entries
from retrieval.query import Query, analyse
from retrieval.ranking import FUSION_WEIGHTS, FusionRanker, Ranker, Ranking, order, rank_or_fuse, standardise
from retrieval.retriever import Request, Response
from retrieval.snapshot import Snapshot
from retrieval.switches import DEPENDENCIES, Switches

__all__ = ["DEFAULT", "PAPER", "GraphRetriever"]

DEFAULT = Switches()
PAPER = Switches(text_pools=False, graph_support=False, resolver_lift=False)

# What the ensemble of ego graphs says beside the text signals. 0.25 was the best of 0, 0.25, 0.5 and 1 over nine open
# sets and worse than 0 on none of them beyond a point.
_GRAPH_WEIGHT = 0.25
_POOL = 100  # best tools of each text search that join the candidates
_POOL_EFFORT = 160  # a tool missed at the end of the pool costs nothing: the index need not look as hard
_T = TypeVar("_T")


class GraphRetriever:
    """Algorithm 2 of "Planning Agents on an Ego-Trip", step by step, and the steps added to it.

    :param ranker: ranks the candidates; the embedded fusion by default, and where a ranker's model is down.
    :param switches: the signals that are used.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        encoder: Encoder,
        ranker: Ranker | None = None,
        *,
        name: str = "default",
        switches: Switches = DEFAULT,
    ) -> None:
        self.name = name
        self._snapshot = snapshot if switches.dependency_edges else snapshot.without(DEPENDENCIES)
        self._encoder = encoder
        weights = {signal: weight for signal, weight in FUSION_WEIGHTS.items() if getattr(switches, signal)}
        self._fusion = FusionRanker(self._snapshot, weights)
        self._ranker = ranker or self._fusion
        self._finders = _used((switches.semantic_entries, semantic_entries), (switches.ngram_entries, ngram_entries))
        self._pools = _used(
            (switches.ego_candidates, self._ensemble),
            (switches.text_pools, self._lexical_pool),
            (switches.text_pools, self._semantic_pool),
        )
        self._finishers = _used((switches.graph_support, self._back), (switches.resolver_lift, self._complete))

    def retrieve(self, request: Request) -> Response:
        """Entry nodes, their ego graphs, the tools in them, reranked, the top k."""
        snapshot, stages = self._snapshot, Stages(request)
        with stages.stage("encode"):
            query, degraded = analyse(request.query, self._encoder, snapshot.abbreviations)
        with stages.stage("entry"):
            allowed = snapshot.allowed(request.filters)
            entries = [entry for find in self._finders for entry in find(snapshot, query, allowed)]
        with stages.stage("ego"):
            pools = [pool(query, entries, allowed) for pool in self._pools]
            tools = np.unique(np.concatenate((np.empty(0, dtype=np.int64), *pools)))
        with stages.stage("rank"):
            ranking, late = rank_or_fuse(self._ranker, self._fusion, query, tools)
            for finish in self._finishers:
                ranking = finish(ranking, query, entries, tools)
            best = order(ranking.scores, tools, request.k)
        return respond(
            snapshot,
            request,
            stages,
            preset=self.name,
            tools=tools[best].tolist(),
            scores=ranking.scores[best],
            signals={name: values[best] for name, values in ranking.signals.items()},
            entries=entries,
            degraded=(*degraded, *late),
        )

    def _ensemble(
        self, query: Query, entries: Sequence[EntryNode], allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        return ensemble_tools(self._snapshot, entries, allowed)

    def _lexical_pool(
        self, query: Query, entries: Sequence[EntryNode], allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        snapshot = self._snapshot
        lexical = snapshot.text_index.scores(query.terms)
        if allowed is not None:
            lexical[~allowed[: snapshot.tool_count]] = 0.0
        some = min(_POOL, snapshot.tool_count)
        best = np.argpartition(-lexical, some - 1)[:some]
        return best[lexical[best] > 0].astype(np.int64)

    def _semantic_pool(
        self, query: Query, entries: Sequence[EntryNode], allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        if query.vector_D is None:
            return np.empty(0, dtype=np.int64)
        snapshot = self._snapshot
        only_tools = snapshot.only_tools(allowed)
        some = min(_POOL, snapshot.tool_count)
        return snapshot.vectors.nearest(query.vector_D, some, allowed=only_tools, effort=_POOL_EFFORT)[0]

    def _back(self, ranking: Ranking, query: Query, entries: Sequence[EntryNode], tools: NDArray[np.int64]) -> Ranking:
        evidence = np.log1p(support(self._snapshot, entries, tools))
        return Ranking(
            scores=ranking.scores + _GRAPH_WEIGHT * standardise(evidence),
            signals={**ranking.signals, "graph_support": evidence},
        )

    def _complete(
        self, ranking: Ranking, query: Query, entries: Sequence[EntryNode], tools: NDArray[np.int64]
    ) -> Ranking:
        return complete(self._snapshot, ranking, query, tools)


def _used(*parts: tuple[bool, _T]) -> tuple[_T, ...]:
    """The parts that are switched on."""
    return tuple(part for on, part in parts if on)
