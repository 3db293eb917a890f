"""Flat baselines: tools ranked by their text; no graph.

Preset ``bm25`` is BM25 alone, ``semantic`` the cosine alone, ``rrf`` both rankings under reciprocal rank fusion, ``fusion`` the
embedded ranker (:class:`retrieval.ranking.fusion.FusionRanker`, with the baseline weights) over all tools, ``hybrid`` the paper's
(section 5.3): the best ten of ``bm25`` and of ``semantic``, reranked.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from egotools.values import Response
from inference.encoder import Encoder
from ontology.errors import ModelError
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.features import cosine_text
from retrieval.ranking.fusion import FusionRanker, rank_with_fallback
from retrieval.ranking.ranking import Ranker, Ranking
from retrieval.response import respond
from retrieval.snapshot.reader import Snapshot

# Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
# SIGIR 2009: the constant that they fixed in a pilot and kept.
_RRF_K = 60
_TOP = 10  # the paper joins the top-10 of both


def make_flat(snapshot: Snapshot, encoder: Encoder, ranker: Ranker | None = None) -> list[FlatRetriever]:
    """The flat baselines over one snapshot. ``ranker``: of ``hybrid``; None for the embedded fusion, which is also the
    fallback where the ranker's model is down."""
    fusion = FusionRanker()

    def rerank(context: QueryContext) -> Ranking:
        return rank_with_fallback(context, ranker or fusion, fusion)

    return [
        FlatRetriever(snapshot, None, rank_by_bm25, name="bm25"),
        FlatRetriever(snapshot, encoder, rank_by_cosine, name="semantic"),
        FlatRetriever(snapshot, encoder, rank_by_rrf, name="rrf"),
        FlatRetriever(snapshot, encoder, fusion.rank, name="fusion"),
        FlatRetriever(snapshot, encoder, rerank, name="hybrid", top=_TOP),
    ]


class FlatRetriever:
    """Ranks every allowed tool; tools whose features are all 0 are left out. ``encoder``: None where the ranking needs
    no vectors. ``top``: how many of the best by BM25 and by cosine are ranked; None for all tools."""

    def __init__(
        self,
        snapshot: Snapshot,
        encoder: Encoder | None,
        rank: Callable[[QueryContext], Ranking],
        *,
        name: str,
        top: int | None = None,
    ) -> None:
        self.name = name
        self._snapshot = snapshot
        self._encoder = encoder
        self._rank = rank
        self._top = top

    def retrieve(self, request: Request) -> Response:
        """The best k tools that the request may see."""
        context = QueryContext.begin(request, self._snapshot, self._encoder)
        with context.stage("entry"):
            context.candidates = np.flatnonzero(self._snapshot.only_tools(context.allowed))
            if self._top is not None:
                context.candidates = _best_of_both(context, self._top)
        with context.stage("rank"):
            ranking = self._rank(context)
            matches = np.any([values != 0 for values in ranking.features.values()], axis=0)
            ranking = ranking.take(matches)
        return respond(context, ranking, preset=self.name)


def rank_by_bm25(context: QueryContext) -> Ranking:
    """BM25 over a tool's whole text as one document: title, description and parameters; scores >= 0."""
    scores = context.snapshot.fields["whole"].scores_of(context.candidates, context.query.weights)
    return Ranking(tools=context.candidates, scores=scores, features={"bm25": scores})


def rank_by_cosine(context: QueryContext) -> Ranking:
    """The cosine of title and description; a ModelError where the encoder is down."""
    scores = cosine_text(context, context.query, context.candidates)
    if scores is None:
        raise ModelError(context.fallbacks[0], subject="semantic", remedy="Use the preset bm25")
    return Ranking(tools=context.candidates, scores=scores, features={"cosine_text": scores})


def rank_by_rrf(context: QueryContext) -> Ranking:
    """Reciprocal rank fusion of BM25 and of the cosine of title and description; scores from 0 to 2 / 61. Each of the
    two ranks all candidates, ties by tool number; a tool with the value 0 is not in its ranking. Without a vector BM25
    alone."""
    tools, features = context.candidates, dict(rank_by_bm25(context).features)
    cosines = cosine_text(context, context.query, tools)
    features |= {} if cosines is None else {"cosine_text": cosines}
    scores = np.zeros(len(tools), dtype=np.float32)
    for values in features.values():
        best = Ranking(tools=tools, scores=values, features={}).best(len(tools))
        best = best[values[best] != 0]
        scores[best] += (1.0 / (_RRF_K + np.arange(1, len(best) + 1))).astype(np.float32)
    return Ranking(tools=tools, scores=scores, features=features)


def _best_of_both(context: QueryContext, top: int) -> NDArray[np.int64]:
    snapshot, query, allowed = context.snapshot, context.query, context.allowed
    found = [snapshot.fields["whole"].best(query.weights, top, allowed=allowed)]
    if query.vector_D is not None:
        found.append(snapshot.vectors.nearest_tools(query.vector_D, top, allowed=allowed)[0])
    return np.unique(np.concatenate(found))
