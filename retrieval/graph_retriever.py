"""Ego graph retrieval: the paper's algorithm 2, and what egotools adds to it.

Preset ``paper`` is the algorithm as printed. Preset ``default`` widens the candidates by the best tools of text search,
so that a request that touches no useful node loses nothing against a flat hybrid, lets the ensemble speak for the tools
in it, and completes the answer with the tools that resolve the identifiers its best tools need.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Encoder
from retrieval.answer import Stages, respond
from retrieval.complete import complete
from retrieval.ego import ensemble_tools, support
from retrieval.entry import EntryNode, ngram_entries, semantic_entries
from retrieval.query import Query, analyse
from retrieval.ranking import FusionRanker, Ranker, Ranking, order, rank_or_fuse, standardise
from retrieval.retriever import Request, Response
from retrieval.snapshot import Snapshot

__all__ = ["DefaultRetriever", "PaperRetriever"]

# What the ensemble of ego graphs says beside the text signals. 0.25 was the best of 0, 0.25, 0.5 and 1 over nine open
# sets and worse than 0 on none of them beyond a point.
_GRAPH_WEIGHT = 0.25
_POOL = 100  # best tools of each text search that join the candidates
_POOL_EFFORT = 160  # a tool missed at the end of the pool costs nothing: the index need not look as hard


class PaperRetriever:
    """Algorithm 2 of "Planning Agents on an Ego-Trip", step by step."""

    name = "paper"

    def __init__(self, snapshot: Snapshot, encoder: Encoder, ranker: Ranker | None = None) -> None:
        self._snapshot = snapshot
        self._encoder = encoder
        self._fusion = FusionRanker(snapshot)
        self._ranker = ranker or self._fusion

    def retrieve(self, request: Request) -> Response:
        """Entry nodes, their ego graphs, the tools in them, reranked, the top k."""
        snapshot, stages = self._snapshot, Stages(request)
        with stages.stage("encode"):
            query, degraded = analyse(request.query, self._encoder, snapshot.abbreviations)
        with stages.stage("entry"):
            allowed = snapshot.allowed(request.filters)
            entries = semantic_entries(snapshot, query, allowed) + ngram_entries(snapshot, query, allowed)
        with stages.stage("ego"):
            tools = self._candidates(query, entries, allowed)
        with stages.stage("rank"):
            ranking, late = rank_or_fuse(self._ranker, self._fusion, query, tools)
            ranking = self._finish(ranking, query, entries, tools)
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

    def _candidates(
        self, query: Query, entries: Sequence[EntryNode], allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        return ensemble_tools(self._snapshot, entries, allowed)

    def _finish(
        self, ranking: Ranking, query: Query, entries: Sequence[EntryNode], tools: NDArray[np.int64]
    ) -> Ranking:
        return ranking


class DefaultRetriever(PaperRetriever):
    """Algorithm 2 on wider candidates, completed with what the best tools need."""

    name = "default"

    def _candidates(
        self, query: Query, entries: Sequence[EntryNode], allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        snapshot = self._snapshot
        pools = [super()._candidates(query, entries, allowed)]
        lexical = snapshot.text_index.scores(query.terms)
        if allowed is not None:
            lexical[~allowed[: snapshot.tool_count]] = 0.0
        some = min(_POOL, snapshot.tool_count)
        best = np.argpartition(-lexical, some - 1)[:some]
        pools.append(best[lexical[best] > 0].astype(np.int64))
        if query.vector_D is not None:
            only_tools = snapshot.only_tools(allowed)
            nearest, _ = snapshot.vectors.nearest(query.vector_D, some, allowed=only_tools, effort=_POOL_EFFORT)
            pools.append(nearest)
        return np.unique(np.concatenate(pools))

    def _finish(
        self, ranking: Ranking, query: Query, entries: Sequence[EntryNode], tools: NDArray[np.int64]
    ) -> Ranking:
        evidence = np.log1p(support(self._snapshot, entries, tools))
        backed = Ranking(
            scores=ranking.scores + _GRAPH_WEIGHT * standardise(evidence),
            signals={**ranking.signals, "graph_support": evidence},
        )
        return complete(self._snapshot, backed, query, tools)
