"""Ego graph retrieval: algorithm 2 of "Planning Agents on an Ego-Trip" (arXiv 2508.05888), and what egotools adds to it.

Preset ``paper`` is the algorithm as printed. Preset ``default`` also takes the best tools of text search as candidates, so
that a request without a useful entry node loses nothing against a flat hybrid; it adds graph support and clause fusion to the
ranking, and completes the answer with the tools that the best ones need. Both are one retriever with another configuration.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from egotools.values import Response
from inference.encoder import Encoder
from ontology.errors import ModelError
from retrieval.candidates.candidate_generation import generate_candidates
from retrieval.completion.complete import Completion
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.confidence import ConfidenceModel, ServedNeed
from retrieval.ranking.features import named_systems
from retrieval.ranking.fusion import (
    FusionRanker,
    PromotingReranker,
    add_boosts,
    add_votes,
    chosen_first,
    named_first,
    rank_with_fallback,
)
from retrieval.ranking.need_fusion import fuse_needs
from retrieval.ranking.ranking import Ranker, Ranking
from retrieval.ranking.weights import FUSION, SHIPPED, RankingWeights
from retrieval.response import after_done, is_done, respond, respond_to_needs
from retrieval.retriever import DEFAULT, DEPENDENCIES, PAPER, RetrievalConfig
from retrieval.snapshot.reader import Snapshot

# The best tools of each need that are candidates of the whole request; with 100 nothing changes by more than .1 point
# on 15 development sets.
_BEST_OF_NEED = 50


class GraphRetriever:
    """Retrieval by an ensemble of ego graphs. Thread-safe.

    :param ranker: ranks the candidates instead of the embedded fusion, which is the fallback where the ranker's model is down.
    :param config: the stages that run.
    :param weights: of the embedded fusion, and the margin of resolvers.
    :param reranker: reranks the best candidates.
    :param confidence: estimates the confidence in the ranking.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        encoder: Encoder,
        ranker: Ranker | None = None,
        *,
        name: str = "default",
        config: RetrievalConfig = DEFAULT,
        weights: RankingWeights = SHIPPED,
        reranker: PromotingReranker | None = None,
        confidence: ConfidenceModel | None = None,
    ) -> None:
        self.name = name
        self._snapshot = snapshot if config.dependency_edges else snapshot.without(DEPENDENCIES)
        self._encoder = encoder
        self._config = config
        as_printed = config == PAPER  # without what was added to the algorithm since
        self._fusion = FusionRanker(weights, name=FUSION, bounded=not as_printed)
        self._ranker = ranker or self._fusion
        self._margin = weights.resolver_margin
        self._coherent = weights["system_coherence"] > 0
        self._reranker = reranker
        self._boosts = None if as_printed else snapshot.boosts
        self._learned = None if as_printed else snapshot.learned
        self._confidence = confidence
        self._completion = Completion(self._snapshot, config)

    def retrieve(self, request: Request) -> Response:
        """Candidates from the ego graphs of the entry nodes and from text search, ranked, reranked, completed; the best k."""
        context = QueryContext.begin(request, self._snapshot, self._encoder, self._config)
        if request.needs:
            return self._answer_needs(context)
        generate_candidates(context)
        ranking = self._rank(context)
        with context.stage("rank"):
            confidence = None if self._confidence is None else self._confidence.estimate(context, ranking)
        return respond(context, ranking, preset=self.name, confidence=confidence)

    def _rank(self, context: QueryContext) -> Ranking:
        """The completed ranking of the candidates for a whole request."""
        with context.stage("rank"):
            ranking = rank_with_fallback(context, self._ranker, self._fusion)
            if self._reranker is not None and not context.request.needs:  # of needs each was reranked
                ranking = self._reranker.rerank(context, ranking)
            if self._learned is not None:
                ranking = add_votes(context, ranking, self._learned)
            ranking = after_done(context, ranking)
            return self.complete(context, ranking, margin=self._margin)

    def _answer_needs(self, context: QueryContext) -> Response:
        """Each need is ranked by itself; the rankings are fused with that of the whole request. The whole request is
        not searched for again: its entry nodes are those of its parts, its candidates the best of theirs."""
        parts = context.parts()
        for part in parts:
            generate_candidates(part)
        needs = list(dict.fromkeys(context.request.needs))
        found = {need: self._rank_need(part) for need, part in zip(needs, parts[-len(needs) :], strict=True)}
        rankings, served = zip(*(found[need] for need in context.request.needs), strict=True)
        context.entries += dict.fromkeys(entry for part in parts for entry in part.entries)
        context.named = tuple(dict.fromkeys(tools for part in parts for tools in part.named))
        best = [ranking.tools[ranking.best(_BEST_OF_NEED)] for ranking, _ in found.values()]
        context.candidates = np.unique(np.concatenate([*best, *(part.candidates for part in parts[: -len(needs)])]))
        whole = self._rank(context)
        with context.stage("rank"):
            systems = context.snapshot.tool_systems if self._coherent and context.snapshot.system_count > 1 else None
            named = {} if systems is None else named_systems(context, context.request.query)
            surely = [system for system, share in named.items() if share == 1.0]
            fused = fuse_needs(rankings, whole, systems=systems, named=surely)
            fused = replace(fused, ranking=chosen_first(context, fused.ranking))
        return respond_to_needs(context, fused, rankings, served, preset=self.name)

    def _rank_need(self, part: QueryContext) -> tuple[Ranking, ServedNeed | None]:
        """The ranking of one need without executed tools, and how well some tool serves it."""
        with part.stage("rank"):
            ranking = self._fusion.rank(part)
            if self._boosts is not None:
                ranking = add_boosts(ranking, self._boosts)
            named = named_first(part, ranking)
            served = None if self._confidence is None else self._confidence.of_need(part, named)
            ranking = named if self._reranker is None else named_first(part, self._reranker.rerank_need(part, ranking))
            return ranking.take(~is_done(part, ranking.tools)), served

    def find_candidates(self, request: Request) -> QueryContext:
        """A request with its candidates, which :meth:`retrieve` would rank. A ModelError when the encoder is down:
        weights must not be fitted to incomplete candidates."""
        context = QueryContext.begin(request, self._snapshot, self._encoder, self._config)
        generate_candidates(context)
        if context.fallbacks:
            raise ModelError(context.fallbacks[0], subject=self._encoder.name, remedy="Try again when it is up")
        return context

    def complete(
        self, context: QueryContext, ranking: Ranking, *, margin: float, with_features: bool = True
    ) -> Ranking:
        """The ranking with the boosts of the catalogue's owner, chosen and named tools first, completed with what its
        best tools need; ``margin`` and ``with_features`` as of :meth:`Completion.complete`."""
        if self._boosts is not None:
            ranking = add_boosts(ranking, self._boosts)
        ranking = named_first(context, chosen_first(context, ranking))
        return self._completion.complete(context, ranking, margin=margin, with_features=with_features)
