"""Flat baselines: every tool of the catalogue is a candidate, ranked by its text; no graph.

Preset ``bm25`` is BM25 alone, ``rrf`` the rankings by BM25 and by cosine under reciprocal rank fusion, ``fusion`` the embedded
ranker (:class:`retrieval.ranking.fusion.FusionRanker`, with the baseline weights) over all tools, ``fusion-clauses`` a plain
sum of three features with clause fusion: the strongest flat rival of ``default``, with nothing tuned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from egotools.values import Response
from inference.encoder import Encoder, Floats1d
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.features import Compute, clause_scores, cosine_name, cosine_text, fuse_clauses, standardise
from retrieval.ranking.fusion import FusionRanker
from retrieval.ranking.ranking import Ranking
from retrieval.response import respond
from retrieval.retriever import PLAIN, RetrievalConfig
from retrieval.snapshot.reader import Snapshot

# Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
# SIGIR 2009: the constant that they fixed in a pilot and kept.
_RRF_K = 60
# Chosen, not tuned: equal weights, half for the name, which is a part of the text. The weight of clause fusion is that of `default`
# when the baseline was made; it stays as it is.
_CLAUSE_FUSION_WEIGHTS = {"bm25": 1.0, "cosine_text": 1.0, "cosine_name": 0.5}
_CLAUSE_FUSION = 3.0
_WITH_CLAUSES = replace(PLAIN, query_decomposition=True)


def make_flat(snapshot: Snapshot, encoder: Encoder) -> list[FlatRetriever]:
    """The flat baselines over one snapshot."""
    return [
        FlatRetriever(snapshot, None, rank_by_bm25, name="bm25"),
        FlatRetriever(snapshot, encoder, rank_by_rrf, name="rrf"),
        FlatRetriever(snapshot, encoder, FusionRanker().rank, name="fusion"),
        FlatRetriever(snapshot, encoder, rank_by_clauses, name="fusion-clauses", config=_WITH_CLAUSES),
    ]


class FlatRetriever:
    """Every allowed tool, ranked; tools whose features are all 0 are left out. ``encoder``: None where the ranking
    needs no vectors."""

    def __init__(
        self,
        snapshot: Snapshot,
        encoder: Encoder | None,
        rank: Callable[[QueryContext], Ranking],
        *,
        name: str,
        config: RetrievalConfig = PLAIN,
    ) -> None:
        self.name = name
        self._config = config
        self._snapshot = snapshot
        self._encoder = encoder
        self._rank = rank

    def retrieve(self, request: Request) -> Response:
        """The best k of all tools that the request may see."""
        context = QueryContext.begin(request, self._snapshot, self._encoder, self._config)
        with context.stage("entry"):
            context.candidates = np.flatnonzero(self._snapshot.only_tools(context.allowed))
        with context.stage("rank"):
            ranking = self._rank(context)
            matches = np.any([values != 0 for values in ranking.features.values()], axis=0)
            ranking = ranking.take(matches)
        return respond(context, ranking, preset=self.name)


def rank_by_bm25(context: QueryContext) -> Ranking:
    """BM25 over a tool's whole text as one document: title, description and parameters; scores >= 0."""
    features = _signals(context)
    return Ranking(tools=context.candidates, scores=features["bm25"], features=features)


def rank_by_rrf(context: QueryContext) -> Ranking:
    """Reciprocal rank fusion of BM25 and of the cosine of title and description; scores from 0 to 2 / 61. Each of the
    two ranks all candidates, ties by tool number; a tool with the value 0 is not in its ranking."""
    tools, features = context.candidates, _signals(context, cosine_text=cosine_text)
    scores = np.zeros(len(tools), dtype=np.float32)
    for values in features.values():
        best = Ranking(tools=tools, scores=values, features={}).best(len(tools))
        best = best[values[best] != 0]
        scores[best] += (1.0 / (_RRF_K + np.arange(1, len(best) + 1))).astype(np.float32)
    return Ranking(tools=tools, scores=scores, features=features)


def rank_by_clauses(context: QueryContext) -> Ranking:
    """BM25 of the whole text, cosine, and half the cosine of the name, as z-scores added up; then clause fusion, as in ``default``."""
    tools, features = context.candidates, _signals(context, cosine_text=cosine_text, cosine_name=cosine_name)
    total = np.zeros(len(tools), dtype=np.float32)
    for name, values in features.items():
        total += _CLAUSE_FUSION_WEIGHTS[name] * standardise(values)
    whole = standardise(total)
    scores = whole + _CLAUSE_FUSION * fuse_clauses(clause_scores(context), whole) if len(tools) else whole
    return Ranking(tools=tools, scores=scores, features=features)


def _signals(context: QueryContext, **others: Compute) -> dict[str, Floats1d]:
    """BM25 and, where they can be computed, other features of the whole request."""
    query, tools = context.query, context.candidates
    found = {name: compute(context, query, tools) for name, compute in others.items()}
    bm25 = context.snapshot.fields["whole"].scores_of(tools, query.weights)
    return {"bm25": bm25, **{name: values for name, values in found.items() if values is not None}}
